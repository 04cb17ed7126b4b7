/**
 * Calls that are executed together: all of one turn of the event loop, in its next turn. So a
 * process that calls without a pause still reads its sockets, which the synchronous calls of SQLite
 * would keep it from.
 */

interface Waiting<Q, A> {
  readonly asked: Q;
  readonly resolve: (answer: A) => void;
  readonly reject: (error: unknown) => void;
}

/** The failure of one call of a batch. */
export class Failed {
  readonly error: unknown;

  constructor(error: unknown) {
    this.error = error;
  }
}

/** The most calls of one turn. They take some milliseconds. */
const MAX = 100;

export class Batches<Q, A> {
  readonly #run: (batch: readonly Q[]) => Promise<readonly (A | Failed)[]>;
  #waiting: Waiting<Q, A>[] = [];
  #running = false;

  /** @param run answers all calls of a batch, in their order */
  constructor(run: (batch: readonly Q[]) => Promise<readonly (A | Failed)[]>) {
    this.#run = run;
  }

  add(asked: Q): Promise<A> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ asked, resolve, reject });
      if (this.#running) return;
      this.#running = true;
      setImmediate(() => void this.#flush());
    });
  }

  async #flush(): Promise<void> {
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
    this.#running = this.#waiting.length > 0;
    if (this.#running) setImmediate(() => void this.#flush());
  }
}
