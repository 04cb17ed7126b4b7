/**
 * Requests to a store, each with its own deadline, which begins when it is sent: clients' deadlines
 * may be missing, or not cover written requests. A request may be executed after it, and its reply
 * may come: the sender receives it through `late`.
 *
 * The requests under way at each server are limited; the others wait while it answers, see
 * `backlog.ts`. If it is silent, those that have waited for the time limit fail as if they had been
 * sent.
 *
 * Requests of one step of the program (before its promise jobs have ended) are sent together. In a
 * crowd of open requests they wait for the end of the turn.
 */
import { afterIo, afterTurn, type Clock, type Timer } from '../base/clock.js';
import type { Command, Reply, ReplyTo } from '../engine/commands.js';
import { Backlogs, type Backlog, type Posted } from './backlog.js';
import { narrowed, widened } from './clock-margin.js';
import { Deadlines, type Timed } from './deadlines.js';
import { type Outcome, OutOfStep, type Store, StoreFailure } from './port.js';

const CLOCKS_EVERY_MS = 1000;
/** A request waits for the end of the turn with so many open ones. */
const CROWD = 16;
const BATCH_MAX = 500;
/** Cheaper than `queueMicrotask`. */
const DONE = Promise.resolve();
/** A turn of this length in ms counts as a wait for its first requests. */
const LONG_TURN = 50;

/** Exactly one of the first two is called, and a late reply after it. */
export interface Receiver<R> {
  /** @param isSame it reached the store once, and in order: see `Store.connection` */
  answered(reply: R, isSame: boolean): void;
  failed(failure: StoreFailure): void;
  late(reply: R): void;
  /**
   * Called before a request is sent that had to wait. False: it is not sent, and nothing else is
   * called.
   */
  due?(): boolean;
}

class Request implements Timed, Outcome, Posted {
  readonly command: Command;
  /** In ms. */
  readonly limit: number;
  deadline = 0;
  over = false;
  readonly backlog: Backlog<Request>;
  posted = 0;
  rank: Posted['rank'] = 0;
  next: Request | undefined;
  bytes = 0;
  /** The answers of its server before it was sent. */
  answersBefore = 0;
  timer: Timer | undefined;
  readonly #requests: Requests;
  readonly #receiver: Receiver<Reply>;

  constructor(
    requests: Requests,
    backlog: Backlog<Request>,
    command: Command,
    limit: number,
    receiver: Receiver<Reply>,
  ) {
    this.#requests = requests;
    this.backlog = backlog;
    this.command = command;
    this.limit = limit;
    this.#receiver = receiver;
  }

  due(): boolean {
    if (this.#receiver.due?.() !== false) return true;
    this.#end();
    return false;
  }

  replied(raw: Reply, isSame: boolean): void {
    const { margin, deadlines } = this.#requests;
    const reply = margin === 0 ? raw : narrowed(raw, margin);
    this.backlog.answers += 1;
    if (this.over) return this.#receiver.late(reply);
    this.#end();
    if (this.timer === undefined) deadlines.tidy();
    this.#receiver.answered(reply, isSame);
  }

  erred(error: unknown): void {
    this.#requests.erred(this, error);
  }

  fail(failure: StoreFailure): void {
    if (this.over) return;
    this.#end();
    this.#receiver.failed(failure);
  }

  expire(): void {
    const isSilent = this.timer === undefined && this.backlog.answers === this.answersBefore;
    if (isSilent) this.#requests.failWaiting(this.backlog, this.deadline);
    this.fail(this.#requests.noReply(this.limit, this.command));
  }

  #end(): void {
    this.over = true;
    this.timer?.cancel();
    this.#requests.open -= 1;
    if (this.backlog.ended(this)) this.#requests.sendMore();
  }
}

export interface RequestEvents {
  expired(): void;
  outOfStep(failure: OutOfStep): void;
  silent(text: string): void;
  wrongClocks(servers: string): void;
}

export class Requests {
  readonly #store: Store;
  readonly #clock: Clock;
  /** In ms. */
  readonly timeout: number;
  /** See `clock-margin.ts`; in ms. */
  readonly margin: number;
  readonly deadlines: Deadlines;
  readonly #backlogs: Backlogs<Request>;
  #collected: Request[] | undefined;
  #since = 0;
  /** One wait for all callers of `written`, until a new request is collected. */
  #writing: Promise<void> | undefined;
  readonly #events: RequestEvents | undefined;
  #clocksFrom = 0;
  open = 0;
  sent = 0;

  /** @param max the most requests under way at each server */
  constructor(
    store: Store,
    clock: Clock,
    timeout: number,
    margin = 0,
    max: number = Infinity,
    events?: RequestEvents,
  ) {
    this.#events = events;
    this.#store = store;
    this.#clock = clock;
    this.timeout = timeout;
    this.margin = margin;
    this.deadlines = new Deadlines(clock);
    this.#backlogs = new Backlogs(max);
  }

  /**
   * Rejects with a `StoreFailure`: the store's own, or one for a passed deadline.
   * @param late receives a reply after the deadline
   * @param timeout a shorter limit than the usual one, in ms
   */
  send<C extends Command>(
    command: C,
    late: (reply: ReplyTo<C>) => void = () => undefined,
    timeout?: number,
    now: number = this.#clock.now(),
  ): Promise<ReplyTo<C>> {
    return new Promise((resolve, reject) => {
      const receiver = { answered: resolve, failed: reject, late };
      this.post(command, receiver, now, timeout);
    });
  }

  /**
   * As `send`, for a receiver. True if the request is sent at the end of this turn; false if it
   * waits. One with its own limit never waits.
   */
  post<C extends Command>(
    command: C,
    receiver: Receiver<ReplyTo<C>>,
    now: number,
    timeout?: number,
  ): boolean {
    const limit = Math.min(timeout ?? this.timeout, this.timeout);
    const { shardOf } = this.#store;
    const { all } = this.#backlogs;
    const only = shardOf === undefined && all.length === 1 ? all[0] : undefined;
    const backlog = only ?? this.#backlogs.of(command, shardOf);
    const request = new Request(this, backlog, command, limit, receiver);
    this.open += 1;
    if (timeout !== undefined) {
      request.timer = this.#clock.after(limit, () => this.#expireAfterIo(request), true);
    }
    if (!backlog.admit(request, timeout !== undefined, now)) return false;
    this.#collect(now, request);
    return true;
  }

  /** The next flush sends a request, and those that have room then. */
  #collect(now: number, request?: Request): void {
    if (this.#collected !== undefined) {
      if (request !== undefined) this.#collected.push(request);
      return;
    }
    this.#collected = request === undefined ? [] : [request];
    this.#since = now;
    this.#writing = undefined;
    if (this.open > CROWD && this.#store.joins === true) afterTurn(this.#flush);
    else void DONE.then(this.#flush);
  }

  sendMore(): void {
    this.#collect(this.#clock.now());
  }

  /** A server was silent for `timeout` until `now`. */
  failWaiting(backlog: Backlog<Request>, now: number): void {
    if (backlog.waiting.size === 0) return;
    const text = `no reply from the store within ${Math.ceil(this.timeout)} ms`;
    const message = `${text}, so this request was not sent`;
    const failure = new StoreFailure(message, 'unanswered', undefined);
    for (const request of backlog.takeSince(now - this.timeout)) request.fail(failure);
  }

  /** Awaits the answer to a request that is no command. Rejects after `timeout`. */
  within<T>(answer: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const timer = this.#clock.after(this.timeout, () => reject(this.noReply(this.timeout)));
      answer.finally(() => timer.cancel()).then(resolve, reject);
    });
  }

  /**
   * Resolves when all requests so far have left the process, for code that blocks the event loop
   * next. `undefined` if they are written before that code runs.
   */
  written(): Promise<void> | undefined {
    const store = this.#store;
    if (this.open > CROWD) void DONE.then(this.#flush);
    if (store.writesLater !== true) return undefined;
    // after the job that gives them to the store
    this.#writing ??= Promise.resolve()
      .then(() => store.written?.())
      .then(() => new Promise((resolve) => afterTurn(resolve)));
    return this.#writing;
  }

  get waits(): boolean {
    return this.#backlogs.all.some(({ waiting }) => waiting.size > 0);
  }

  connection(): unknown {
    return this.#store.connection?.();
  }

  /** See `Store.connection`. */
  isSame(connection: unknown): boolean {
    return connection !== undefined && connection === this.connection();
  }

  get shardOf(): ((key: string) => string) | undefined {
    return this.#store.shardOf;
  }

  noReply(limit: number, command?: Command): StoreFailure {
    this.#events?.expired();
    this.#unanswered(command);
    const trouble = this.#store.trouble?.();
    const why = trouble === undefined ? '' : `; ${trouble}`;
    const message = `no reply from the store within ${Math.ceil(limit)} ms${why}`;
    return new StoreFailure(message, 'unanswered', undefined);
  }

  #unanswered(command: Command | undefined): void {
    void this.#store.unanswered?.(command)?.then((text) => text && this.#events?.silent(text));
  }

  /** No timer remains after the last request from now on. */
  close(): void {
    this.deadlines.stop();
  }

  #expireAfterIo(request: Request): void {
    afterIo(this.#clock, () => {
      if (!request.over) request.expire();
    });
  }

  readonly #flush = (): void => {
    const requests = this.#collected ?? [];
    this.#collected = undefined;
    const now = this.#clock.now();
    const late = now - this.#since >= LONG_TURN;
    const batch = late ? requests.filter((request) => request.due()) : requests;
    for (const backlog of this.#backlogs.all) {
      if (backlog.waiting.size === 0) continue;
      for (const request of backlog.take()) if (request.due()) batch.push(request);
    }
    for (const request of batch) {
      request.deadline = now + request.limit;
      request.answersBefore = request.backlog.answers;
      if (request.timer === undefined) this.deadlines.add(request);
    }
    if (batch.length === 1) {
      const [only] = batch as [Request];
      const command = this.margin === 0 ? only.command : this.#asSent(only);
      if (this.#store.post?.(command, only) === true) {
        this.sent += 1;
        return;
      }
    }
    for (let from = 0; from < batch.length; from += BATCH_MAX) {
      this.#execute(batch.length <= BATCH_MAX ? batch : batch.slice(from, from + BATCH_MAX));
    }
  };

  #lookAtClocks(): void {
    const now = this.#clock.now();
    if (now < this.#clocksFrom) return;
    this.#clocksFrom = now + CLOCKS_EVERY_MS;
    const servers = this.#store.wrongClocks?.();
    if (servers !== undefined) this.#events?.wrongClocks(servers);
  }

  #execute(batch: readonly Request[]): void {
    this.sent += batch.length;
    if (this.#store.wrongClocks !== undefined) this.#lookAtClocks();
    const connection = this.connection();
    const answers = this.#store.execute(batch.map((request) => this.#asSent(request)));
    for (let index = 0; index < batch.length; index++) {
      const request = batch[index] as Request;
      (answers[index] as Promise<Reply>).then(
        (reply) => request.replied(reply, this.isSame(connection)),
        (error: unknown) => request.erred(error),
      );
    }
  }

  #asSent({ command }: Request): Command {
    return this.margin === 0 ? command : widened(command, this.margin);
  }

  erred(request: Request, error: unknown): void {
    const failure = failureOf(error);
    if (failure instanceof OutOfStep) this.#events?.outOfStep(failure);
    // a cut-off node of a cluster says so, a closed connection rejects at once, and a former master
    // has too few replicas
    if (failure.kind !== 'refused' && failure.kind !== 'closed') this.#unanswered(request.command);
    if (failure.answered) request.backlog.answers += 1;
    request.fail(failure);
    this.deadlines.tidy();
  }
}

function failureOf(error: unknown): StoreFailure {
  if (error instanceof StoreFailure) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new StoreFailure(message, 'unanswered', error);
}
