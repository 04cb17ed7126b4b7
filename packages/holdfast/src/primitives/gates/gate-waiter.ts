/**
 * One pending call on a latch or a barrier.
 *
 *     asking --closed--> waiting --opened, broken (push, poll)--> settled
 *        \---opened, broken, or counted (without a wait)--> settled
 *     either --timeout, abort, failure, close--> settled, and its generation is withdrawn
 *
 * An arrival has an id, and is bound to a generation before it is sent: sent twice or late, it
 * counts once or not at all (I3). It is bound only to a generation that had begun at the call:
 *
 *     known from an earlier reply -> bound
 *     reported as current, and began before the call -> bound
 *     reported as current, and began at about the time of the call -> asks again: bound, if it is
 *         the first one of its gate, or may have begun before; otherwise the call is broken
 *
 * Generations are numbered by times of the store. Its time at the call was before the time of a
 * later reply, less the local time between the call and the request.
 */
import { onAbort } from '../../base/abort.js';
import type { Clock } from '../../base/clock.js';
import type { GateKind, GatePush, GateStatus } from '../../engine/commands.js';

/** How much faster one clock may be. */
const FAST = 1.01;
const SLOW = 0.99;

export interface GateSubject {
  readonly key: string;
  readonly kind: GateKind;
  readonly count: number;
  readonly ttl: number;
  readonly retention: number;
}

export interface GateRequest {
  /** 0 to wait only. */
  readonly by: number;
  /** False if the call ends when its arrival counts. */
  readonly waits: boolean;
  /** The expected one; 0 if unknown. */
  readonly generation: number;
  readonly wait: number;
  readonly signal: AbortSignal | undefined;
}

export interface GateResult {
  readonly generation: number;
  /** How many were missing after its arrival; -1 if it did not arrive. */
  readonly rank: number;
  readonly missing: number;
  readonly current: number;
}

export class GateWaiter {
  readonly subject: GateSubject;
  readonly request: GateRequest;
  readonly promise: Promise<GateResult>;
  id: string;
  generation: number;
  bound = false;
  /** A generation to compare with the time of the call, or 0. */
  candidate = 0;
  askedAt = 0;
  rank = -1;
  missing = 0;
  /** An arrival with this id was sent and not answered. */
  doubtful = false;
  sent = false;
  channel = '';
  readonly calledAt: number;
  heardAt: number;
  /** True in a queue: its generation is closed. */
  lined = false;
  trouble: unknown;
  /** The wait ended before the deciding answer: no further request is sent. */
  overdue: boolean;
  lastPush: GatePush | undefined;
  settled = false;
  readonly #resolve: (passage: GateResult) => void;
  readonly #reject: (error: Error) => void;
  readonly #cleanups: (() => void)[] = [];

  constructor(subject: GateSubject, request: GateRequest, id: string, now: number) {
    this.subject = subject;
    this.request = request;
    this.id = id;
    this.generation = request.generation;
    this.calledAt = now;
    this.heardAt = now;
    this.overdue = request.wait === 0;
    let resolve: (passage: GateResult) => void = () => undefined;
    let reject: (error: Error) => void = () => undefined;
    this.promise = new Promise((yes, no) => {
      resolve = yes;
      reject = no;
    });
    this.#resolve = resolve;
    this.#reject = reject;
  }

  /** True if it must arrive, and has not, as far as is known. */
  get arrives(): boolean {
    return this.request.by > 0 && this.rank < 0;
  }

  /** Whether the current generation, by a reply of now, certainly began before the call. */
  hadBegun({ current, now }: GateStatus, at: number): boolean {
    // the request itself began it, so it follows no other
    return current === now || current <= now - (at - this.calledAt) * 1000 * FAST;
  }

  /** Whether the candidate certainly began after the call, by the reply about it. */
  beganLater({ now }: GateStatus): boolean {
    const { candidate, calledAt, askedAt } = this;
    // in the future: the clock was set back, and the order is unknown
    return candidate <= now && candidate > now - (askedAt - calledAt) * 1000 * SLOW;
  }

  bind(generation: number, id: string): void {
    this.generation = generation;
    this.bound = generation !== 0;
    this.candidate = 0;
    this.id = id;
    this.doubtful = false;
    this.sent = false;
  }

  /** An answer to an earlier request still counts after `late`, at the end of the wait. */
  limit(clock: Clock, late: () => void, aborted: (reason: unknown) => void): void {
    const { signal, wait } = this.request;
    if (wait > 0 && wait !== Number.POSITIVE_INFINITY) {
      const timer = clock.after(wait, () => {
        if (this.lined || this.trouble !== undefined) late();
        else this.overdue = true;
      });
      this.cleanUp(() => timer.cancel());
    }
    if (signal === undefined) return;
    this.cleanUp(onAbort(signal, () => aborted(signal.reason)));
  }

  hear(now: number): void {
    this.heardAt = now;
    this.trouble = undefined;
  }

  cleanUp(cleanUp: () => void): void {
    this.#cleanups.push(cleanUp);
  }

  pass(current: number): void {
    const { generation, rank, missing } = this;
    if (this.#settle()) this.#resolve({ generation, rank, missing, current });
  }

  fail(error: Error): void {
    if (this.#settle()) this.#reject(error);
  }

  #settle(): boolean {
    if (this.settled) return false;
    this.settled = true;
    for (const cleanUp of this.#cleanups.splice(0)) cleanUp();
    return true;
  }
}
