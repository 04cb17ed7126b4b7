/**
 * Requests to a store: collected for one turn of the event loop, each with a deadline of its own.
 *
 * The deadlines of clients are not enough: with one client a request may never settle, with another
 * the deadline does not cover requests that are already written. After its deadline a request may
 * still be executed, and its reply may still come: the sender receives it through `late`.
 */
import { afterIo, afterTurn, type Clock, type Timer } from '../clock.js';
import type { Command, Reply, ReplyTo } from '../engine/commands.js';
import { Deadlines, type Timed } from './deadlines.js';
import { type Store, StoreFailure } from './port.js';

/** The maximum number of commands in one batch. */
const BATCH_MAX = 500;

/** A command without a reply so far. */
class Request implements Timed {
  readonly command: Command;
  /** The time limit in ms. */
  readonly limit: number;
  readonly deadline: number;
  over = false;
  /** Set if the request has its own time limit. */
  timer: Timer | undefined;
  readonly #requests: Requests;
  readonly #resolve: (reply: Reply) => void;
  readonly #reject: (failure: StoreFailure) => void;
  readonly #late: ((reply: Reply) => void) | undefined;

  constructor(
    requests: Requests,
    command: Command,
    limit: number,
    deadline: number,
    resolve: (reply: Reply) => void,
    reject: (failure: StoreFailure) => void,
    late: ((reply: Reply) => void) | undefined,
  ) {
    this.#requests = requests;
    this.command = command;
    this.limit = limit;
    this.deadline = deadline;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#late = late;
  }

  answer(reply: Reply): void {
    if (this.over) this.#late?.(reply);
    else this.#resolve(reply);
    this.#end();
  }

  fail(failure: StoreFailure): void {
    this.#reject(failure);
    this.#end();
  }

  expire(): void {
    this.fail(this.#requests.noReply(this.limit, this.command));
  }

  #end(): void {
    this.over = true;
    this.timer?.cancel();
  }
}

export class Requests {
  readonly #store: Store;
  readonly #clock: Clock;
  /** The time limit of a request in ms. */
  readonly timeout: number;
  readonly #deadlines: Deadlines;
  #collected: Request[] | undefined;
  /** See `written`. One wait for all callers until a new request is collected. */
  #writing: Promise<void> | undefined;
  /** Called when a request has no reply in time. */
  expired: () => void = () => undefined;
  /** The number of commands given to the store, for statistics. */
  sent = 0;

  constructor(store: Store, clock: Clock, timeout: number) {
    this.#store = store;
    this.#clock = clock;
    this.timeout = timeout;
    this.#deadlines = new Deadlines(clock);
  }

  /**
   * Sends a command. Rejects with a `StoreFailure`: the store's own, or one for a passed deadline.
   * @param late receives a reply that came after the deadline
   * @param timeout a shorter limit than the usual one, in ms
   */
  send<C extends Command>(
    command: C,
    late?: (reply: ReplyTo<C>) => void,
    timeout?: number,
  ): Promise<ReplyTo<C>> {
    return new Promise((resolve, reject) => {
      const limit = Math.min(timeout ?? this.timeout, this.timeout);
      const deadline = this.#clock.now() + limit;
      const answered = resolve as (reply: Reply) => void;
      const tooLate = late as ((reply: Reply) => void) | undefined;
      const request = new Request(this, command, limit, deadline, answered, reject, tooLate);
      if (timeout === undefined) this.#deadlines.add(request);
      else request.timer = this.#clock.after(limit, () => this.#expireAfterIo(request), true);
      if (this.#collected !== undefined) {
        this.#collected.push(request);
        return;
      }
      this.#collected = [request];
      this.#writing = undefined;
      // a promise job is a microtask too, and is cheaper than queueMicrotask
      void Promise.resolve().then(this.#flush);
    });
  }

  /** The answer to a request that is not a command. Rejects if it takes longer than `timeout`. */
  within<T>(answer: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const timer = this.#clock.after(this.timeout, () => reject(this.noReply(this.timeout)));
      answer.finally(() => timer.cancel()).then(resolve, reject);
    });
  }

  /**
   * Resolves when all requests so far have been written, so that they leave the process even if the
   * code that runs next blocks the event loop. `undefined` if they are written before that code
   * runs.
   */
  written(): Promise<void> | undefined {
    const store = this.#store;
    if (store.writesLater !== true) return undefined;
    // after the job that gives them to the store
    this.#writing ??= Promise.resolve()
      .then(() => store.written?.())
      .then(() => new Promise((resolve) => afterTurn(resolve)));
    return this.#writing;
  }

  /** See `Store.shardOf`. */
  get shardOf(): ((key: string) => string) | undefined {
    return this.#store.shardOf;
  }

  /** The failure of a request without a reply in time. */
  noReply(limit: number, command?: Command): StoreFailure {
    this.expired();
    if (command !== undefined) this.#store.unanswered?.(command);
    const trouble = this.#store.trouble?.();
    const why = trouble === undefined ? '' : `; ${trouble}`;
    const message = `no reply from the store within ${Math.ceil(limit)} ms${why}`;
    return new StoreFailure(message, 'unanswered', undefined);
  }

  /** From now on no timer remains after the last request. */
  close(): void {
    this.#deadlines.stop();
  }

  /** The reply may be in the socket already. */
  #expireAfterIo(request: Request): void {
    afterIo(this.#clock, () => {
      if (!request.over) request.expire();
    });
  }

  readonly #flush = (): void => {
    const collected = this.#collected ?? [];
    this.#collected = undefined;
    for (let from = 0; from < collected.length; from += BATCH_MAX) {
      this.#execute(
        collected.length <= BATCH_MAX ? collected : collected.slice(from, from + BATCH_MAX),
      );
    }
  };

  #execute(batch: readonly Request[]): void {
    this.sent += batch.length;
    const answers = this.#store.execute(batch.map(({ command }) => command));
    for (let index = 0; index < batch.length; index++) {
      const request = batch[index] as Request;
      (answers[index] as Promise<Reply>).then(
        (reply) => {
          request.answer(reply);
          this.#deadlines.tidy();
        },
        (error: unknown) => {
          const failure = failureOf(error);
          // a node of a cluster that is cut off says so, and a closed connection rejects at once
          if (failure.kind === 'transient' || failure.kind === 'unanswered') {
            this.#store.unanswered?.(request.command);
          }
          request.fail(failure);
          this.#deadlines.tidy();
        },
      );
    }
  }
}

function failureOf(error: unknown): StoreFailure {
  if (error instanceof StoreFailure) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new StoreFailure(message, 'unanswered', error);
}
