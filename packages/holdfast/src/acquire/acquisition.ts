/**
 * One acquisition that has not been answered for good.
 *
 *     asking --granted--> settled
 *        \---queued--> waiting --grant (push, poll)--> settled
 *     either --refused, timeout, abort, failure, close--> settled, and withdrawn from the store
 *
 * It settles once (I6): what comes later finds it settled, and is given back to the store.
 */
import type { Timer } from '../clock.js';
import type { Acquire, Micros, Park } from '../engine/commands.js';
import { DRIFT, type LeaseRecord } from '../lease/lease-record.js';
import type { Moment, SuspendDetector } from '../lease/suspend-detector.js';
import type { ResolvedAcquireOptions } from '../options.js';
import { type MultiAcquireLimits, PushTokens } from './pushes.js';
import type { Origin } from '../cleanup/withdrawal.js';

/** What an acquisition wants. */
export interface AcquireRequest {
  readonly key: string;
  readonly weight: number;
  readonly capacity: number;
  /** What the user calls the capacity, if it is the user's to choose. */
  readonly option?: string;
  readonly terms: ResolvedAcquireOptions;
  /**
   * What is granted stays in the store until its owner gives it back, from here or elsewhere: it is
   * not looked after here.
   */
  readonly stays?: boolean;
  /**
   * Hears of each failure, and of each answer that leaves it in the queue (`undefined`): for a
   * caller that limits the wait itself.
   */
  readonly told?: (trouble: unknown) => void;
}

/** Grants in a row whose answers may take longer than the lease lasts. */
const LATE_MAX = 3;

export class Acquisition {
  readonly id: string;
  readonly request: AcquireRequest;
  readonly promise: Promise<LeaseRecord | null>;
  /** The place in the store's queue, 0 before it has one. */
  ticket = 0;
  /** The channel that the store knows for it. */
  channel = '';
  /** The secrets that a push of its grant may repeat, see `PushTokens`. */
  readonly tokens: PushTokens = new PushTokens();
  /** What bounds a pushed grant: the store may know a request before its answer is here. */
  bounds: MultiAcquireLimits = { owner: '', claim: 0, handOffs: 0 };
  /**
   * Our time before a request was sent, and the store's time when it answered: what ties a grant to
   * our clock.
   */
  sent: Moment;
  storeTime: Micros = 0;
  /** When the store last answered it. */
  heardAt: number;
  settled = false;
  /** What it was granted. */
  record: LeaseRecord | null = null;
  /** Why the store's last answer to it was a failure, or did not come; unset by a good answer. */
  trouble: unknown;
  /** Set when its wait has ended before the first answer, which is the last one it waits for. */
  overdue = false;
  /** Grants that had ended when their answer came. */
  #late = 0;
  /** True while a request for it is under way. */
  asking = false;
  /** True if a request for it may arrive once more, see `Echoes`. */
  mayBeDuplicated = false;
  /** Set if it waits, or waited, at a condition. */
  origin: Origin | undefined;
  readonly #resolve: (record: LeaseRecord | null | Promise<LeaseRecord | null>) => void;
  readonly #reject: (error: Error) => void;
  readonly #cleanups: (() => void)[] = [];
  #pause: Timer | undefined;

  constructor(id: string, request: AcquireRequest, now: Moment) {
    this.id = id;
    this.request = request;
    this.sent = now;
    this.heardAt = now.at;
    let resolve: (record: LeaseRecord | null | Promise<LeaseRecord | null>) => void = () =>
      undefined;
    let reject: (error: Error) => void = () => undefined;
    this.promise = new Promise((yes, no) => {
      resolve = yes;
      reject = no;
    });
    this.#resolve = resolve;
    this.#reject = reject;
  }

  /** True while it waits for a signal, and not for the permits. */
  get asleep(): boolean {
    return false;
  }

  /** True once the store has answered it. */
  get heard(): boolean {
    return this.storeTime !== 0;
  }

  /** True once it may be asked for. */
  get ready(): boolean {
    return true;
  }

  /** What asks for it. */
  command(asked: Acquire): Acquire | Park {
    return asked;
  }

  /** The store said that it is in the queue. */
  moved(): void {
    this.request.told?.(undefined);
  }

  /** A request that was under way when it was settled had no answer. */
  unanswered(): void {}

  /** A grant had ended when its answer came. True if it is not worth another request. */
  tooLate(): boolean {
    this.#late += 1;
    return this.request.terms.wait === 0 || this.overdue || this.#late >= LATE_MAX;
  }

  /** Done when the waiter is settled. */
  cleanUp(cleanUp: () => void): void {
    this.#cleanups.push(cleanUp);
  }

  /** The timer after which it asks again; there is one at most. */
  pause(timer: Timer): void {
    this.#pause?.cancel();
    this.#pause = timer;
  }

  /** The store answered a request that was sent at `sent`. */
  hear(sent: Moment, storeTime: Micros, now: number): void {
    this.sent = sent;
    this.storeTime = storeTime;
    this.heardAt = now;
    this.trouble = undefined;
  }

  /** A request or a poll for it had no answer, or the server could not answer at the moment. */
  fault(error: unknown): void {
    this.trouble = error;
    this.request.told?.(error);
  }

  /**
   * The earliest moment on our clock at which the store's clock can have shown a time: counted from
   * the last answer, or, while there is none, from before the first request. Our clock may have
   * been the slower one since then.
   */
  localTime(suspend: SuspendDetector, storeTime: Micros): number {
    const sentAt = suspend.toLocal(this.sent);
    if (this.storeTime === 0) return sentAt;
    const since = (storeTime - this.storeTime) / 1000;
    return sentAt + since - Math.abs(since) * DRIFT;
  }

  /**
   * True if the store's last answer no longer ties its clock to ours. Waiters ask once in a claim
   * window: one without an answer for two was frozen or cut off, and if the store's clock was set
   * forward meanwhile, its push would be believed for longer than the store does.
   */
  isStale(suspend: SuspendDetector, now: number, claimWindow: number): boolean {
    return now - suspend.toLocal(this.sent) > 2 * claimWindow;
  }

  /** @param first what its caller does not come before, though it is settled now */
  grant(record: LeaseRecord | null, first?: Promise<void>): void {
    if (!this.#settle()) return;
    this.record = record;
    this.#resolve(first === undefined ? record : first.then(() => record));
  }

  fail(error: Error): void {
    if (this.#settle()) this.#reject(error);
  }

  #settle(): boolean {
    if (this.settled) return false;
    this.settled = true;
    this.#pause?.cancel();
    for (const cleanUp of this.#cleanups.splice(0)) cleanUp();
    return true;
  }
}
