/**
 * Requests to a store: collected for one turn of the event loop, and each with a deadline of our
 * own.
 *
 * A client's own deadline is no use: one may never settle, another does not cover what is already
 * written. A request that passed its deadline may still be carried out, and its answer may still
 * come: whoever sent it is told (`late`).
 */
import { afterIo, afterTurn, type Clock, type Timer } from '../clock.js';
import type { Command, Reply, ReplyTo } from '../engine/commands.js';
import { Deadlines, type Timed } from './deadlines.js';
import { type Store, StoreFailure } from './port.js';

/** Most commands that are given to a store at once. */
const BATCH_MAX = 500;

/** One command on its way. */
class Request implements Timed {
  readonly command: Command;
  /** Ms that it may take. */
  readonly limit: number;
  readonly deadline: number;
  over = false;
  /** Set if its deadline is not the usual one. */
  timer: Timer | undefined;
  readonly #resolve: (reply: Reply) => void;
  readonly #reject: (failure: StoreFailure) => void;
  readonly #late: ((reply: Reply) => void) | undefined;

  constructor(
    command: Command,
    limit: number,
    deadline: number,
    resolve: (reply: Reply) => void,
    reject: (failure: StoreFailure) => void,
    late: ((reply: Reply) => void) | undefined,
  ) {
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
    this.fail(new StoreFailure(`no answer within ${Math.ceil(this.limit)} ms`, false, undefined));
  }

  #end(): void {
    this.over = true;
    this.timer?.cancel();
  }
}

export class Requests {
  readonly #store: Store;
  readonly #clock: Clock;
  /** Ms that a request may take. */
  readonly timeout: number;
  readonly #deadlines: Deadlines;
  #collected: Request[] = [];
  /** Commands given to the store, for whoever counts. */
  sent = 0;

  constructor(store: Store, clock: Clock, timeout: number) {
    this.#store = store;
    this.#clock = clock;
    this.timeout = timeout;
    this.#deadlines = new Deadlines(clock);
  }

  /**
   * Sends a command. Rejects with a `StoreFailure`: the store's own, or one that says that the
   * deadline passed.
   * @param late hears of an answer that came after the deadline
   * @param timeout a shorter deadline than the usual one
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
      const request = new Request(command, limit, deadline, answered, reject, tooLate);
      if (timeout === undefined) this.#deadlines.add(request);
      else request.timer = this.#clock.after(limit, () => this.#expireAfterIo(request), true);
      this.#collected.push(request);
      // a promise's job is a microtask too, and cheaper to make than one of queueMicrotask
      if (this.#collected.length === 1) void Promise.resolve().then(() => this.#flush());
    });
  }

  /**
   * Resolves when the requests up to now have been written, so that they go out although the code
   * that runs next holds the event loop up. `undefined` if they are written before that code runs.
   */
  written(): Promise<void> | undefined {
    if (this.#store.writesLater !== true) return undefined;
    // behind the job that gives them to the store
    return Promise.resolve().then(() => new Promise((resolve) => afterTurn(resolve)));
  }

  /** Leaves no timer behind once the last request has ended. */
  close(): void {
    this.#deadlines.stop();
  }

  /** The answer may lie in the socket. */
  #expireAfterIo(request: Request): void {
    afterIo(this.#clock, () => {
      if (!request.over) request.expire();
    });
  }

  #flush(): void {
    const collected = this.#collected;
    this.#collected = [];
    for (let from = 0; from < collected.length; from += BATCH_MAX) {
      const batch = collected.slice(from, from + BATCH_MAX);
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
            request.fail(failureOf(error));
            this.#deadlines.tidy();
          },
        );
      }
    }
  }
}

function failureOf(error: unknown): StoreFailure {
  if (error instanceof StoreFailure) return error;
  return new StoreFailure(error instanceof Error ? error.message : String(error), false, error);
}
