/**
 * Requests that travel together: while a statement is under way, those that come are collected, and
 * the next statement has all of them. The first one also waits for the others of this microtask.
 */

interface Waiting<Q, A> {
  readonly asked: Q;
  readonly resolve: (answer: A) => void;
  readonly reject: (error: unknown) => void;
}

/** The failure of one request of a batch. */
export class Failed {
  readonly error: unknown;

  constructor(error: unknown) {
    this.error = error;
  }
}

/** The most requests of one statement. */
const MAX = 500;

export class Batches<Q, A> {
  readonly #run: (batch: readonly Q[]) => Promise<readonly (A | Failed)[]>;
  #waiting: Waiting<Q, A>[] = [];
  #running = false;

  /** @param run answers all requests of a batch, in their order */
  constructor(run: (batch: readonly Q[]) => Promise<readonly (A | Failed)[]>) {
    this.#run = run;
  }

  add(asked: Q): Promise<A> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ asked, resolve, reject });
      if (this.#running) return;
      this.#running = true;
      queueMicrotask(() => void this.#flush());
    });
  }

  async #flush(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, MAX);
      try {
        const answers = await this.#run(batch.map(({ asked }) => asked));
        for (const [at, { resolve, reject }] of batch.entries()) {
          const answer = answers[at] as A | Failed;
          if (answer instanceof Failed) reject(answer.error);
          else resolve(answer);
        }
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.#running = false;
  }
}
