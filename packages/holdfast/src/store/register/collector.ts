/**
 *     idle --call--> planned --moment--> under way --answer--> idle, or planned if calls came
 *
 * The calls of a refused batch are made alone.
 */
import { isRegisterError, RegisterError } from './register-error.js';

interface Asked<Q, A> {
  readonly question: Q;
  readonly resolve: (answer: A) => void;
  readonly reject: (error: unknown) => void;
}

/** How a {@link Collector} makes its batches. */
export interface CollectorTerms<Q> {
  /** The most calls of a batch. Default 500. */
  readonly max?: number | undefined;
  /**
   * Runs a function later: the calls until then are in the batch. Default `queueMicrotask`.
   */
  readonly soon?: ((start: () => void) => void) | undefined;
  /** A batch does not wait for the answer to the one before. Default false. */
  readonly overlaps?: boolean | undefined;
  /** The key of a call, if a batch must not have two calls of one key. */
  readonly keyOf?: ((question: Q) => string) | undefined;
}

/** Collects calls into batches, for registers that answer many at the cost of one. */
export class Collector<Q, A> {
  readonly #run: (batch: readonly Q[]) => readonly A[] | Promise<readonly A[]>;
  readonly #max: number;
  readonly #soon: (start: () => void) => void;
  readonly #overlaps: boolean;
  readonly #keyOf: ((question: Q) => string) | undefined;
  #waiting: Asked<Q, A>[] = [];
  /** A batch is planned or, unless batches overlap, under way. */
  #busy = false;

  /** @param run answers a batch, in its order; an error is that of all */
  constructor(
    run: (batch: readonly Q[]) => readonly A[] | Promise<readonly A[]>,
    { max = 500, soon = queueMicrotask, overlaps = false, keyOf }: CollectorTerms<Q> = {},
  ) {
    this.#run = run;
    this.#max = max;
    this.#soon = soon;
    this.#overlaps = overlaps;
    this.#keyOf = keyOf;
  }

  /** Makes a call with the next batch. */
  add(question: Q): Promise<A> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ question, resolve, reject });
      this.#plan();
    });
  }

  #plan(): void {
    if (this.#busy || this.#waiting.length === 0) return;
    this.#busy = true;
    this.#soon(this.#start);
  }

  readonly #start = (): void => {
    const sent = this.#send(this.#take());
    if (this.#overlaps || sent === undefined) this.#next();
    else void sent.then(this.#next);
  };

  readonly #next = (): void => {
    this.#busy = false;
    this.#plan();
  };

  #take(): readonly Asked<Q, A>[] {
    const keyOf = this.#keyOf;
    if (this.#waiting.length === 1 || keyOf === undefined)
      return this.#waiting.splice(0, this.#max);
    const keys = new Set<string>();
    const batch: Asked<Q, A>[] = [];
    const later: Asked<Q, A>[] = [];
    for (const one of this.#waiting) {
      const key = keyOf(one.question);
      const fits = batch.length < this.#max && !keys.has(key);
      keys.add(key);
      (fits ? batch : later).push(one);
    }
    this.#waiting = later;
    return batch;
  }

  #send(batch: readonly Asked<Q, A>[]): Promise<void> | undefined {
    try {
      const answers = this.#run(batch.map(({ question }) => question));
      if (answers instanceof Promise) return this.#await(batch, answers);
      answer(batch, answers);
      return undefined;
    } catch (error) {
      return this.#failed(batch, error);
    }
  }

  async #await(batch: readonly Asked<Q, A>[], answers: Promise<readonly A[]>): Promise<void> {
    try {
      answer(batch, await answers);
    } catch (error) {
      await this.#failed(batch, error);
    }
  }

  #failed(batch: readonly Asked<Q, A>[], error: unknown): Promise<void> | undefined {
    if (batch.length > 1 && isRegisterError(error) && error.kind === 'refused') {
      return Promise.all(batch.map(async (one) => this.#send([one]))).then(() => undefined);
    }
    for (const { reject } of batch) reject(error);
    return undefined;
  }
}

function answer<Q, A>(batch: readonly Asked<Q, A>[], answers: readonly A[]): void {
  if (answers.length !== batch.length) throw wrongCount(batch.length);
  batch.forEach(({ resolve }, at) => resolve(answers[at] as A));
}

function wrongCount(count: number): RegisterError {
  const message = `the register must return an answer for each of ${count} keys`;
  return new RegisterError('unanswered', message);
}
