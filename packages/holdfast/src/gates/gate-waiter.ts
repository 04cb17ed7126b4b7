/**
 * One call on a latch or a barrier that has not ended.
 *
 *     asking --closed--> waiting --opened, broken (push, poll)--> settled
 *        \---opened, broken, counted (where that is all)--> settled
 *     either --timeout, abort, failure, close--> settled, and its generation withdrawn from
 *
 * An arrival is bound to a generation before it is sent, and its id to the arrival: whatever is
 * sent twice, or comes late, counts once or not at all (I3).
 */
import { onAbort } from '../abort.js';
import type { Clock } from '../clock.js';
import type { GateKind, GatePush } from '../engine/commands.js';

/** What a gate is asked by its kind of face. */
export interface GateSubject {
  readonly key: string;
  readonly kind: GateKind;
  readonly count: number;
  /** Ms, see `Arrive.ttl`. */
  readonly ttl: number;
  readonly retention: number;
}

/** What one call wants. */
export interface GateRequest {
  /** Arrivals that it stands for, 0 to wait only. */
  readonly by: number;
  /** False: it ends when it has been counted. */
  readonly waits: boolean;
  /** The generation that is likely to be current, 0 if none is known. */
  readonly generation: number;
  readonly wait: number;
  readonly signal: AbortSignal | undefined;
}

/** How a call ended well. */
export interface GateResult {
  readonly generation: number;
  /** Arrivals that were missing after its own, -1 if it did not count. */
  readonly rank: number;
  /** Arrivals that were missing, as far as it heard. */
  readonly left: number;
  /** The generation that was current then. */
  readonly current: number;
}

export class GateWaiter {
  readonly subject: GateSubject;
  readonly wish: GateRequest;
  readonly promise: Promise<GateResult>;
  id: string;
  generation: number;
  rank = -1;
  left = 0;
  /** True if an arrival of this id was sent and not answered: it may have counted. */
  doubtful = false;
  /** True once an arrival was sent for this generation. */
  sent = false;
  /** The channel that the store knows for it. */
  channel = '';
  heardAt: number;
  /** True once it waits in a line: the store has said that its generation is closed. */
  lined = false;
  /** Why the store's last answer to it was a failure, or did not come; unset by a good answer. */
  trouble: unknown;
  /** Set when its wait has ended before the answer on which it depends: it asks no further. */
  overdue: boolean;
  /** The last that was pushed about its gate while a request for it was under way. */
  told: GatePush | undefined;
  settled = false;
  readonly #resolve: (passage: GateResult) => void;
  readonly #reject: (error: Error) => void;
  readonly #cleanups: (() => void)[] = [];

  constructor(subject: GateSubject, wish: GateRequest, id: string, now: number) {
    this.subject = subject;
    this.wish = wish;
    this.id = id;
    this.generation = wish.generation;
    this.heardAt = now;
    this.overdue = wish.wait === 0;
    let resolve: (passage: GateResult) => void = () => undefined;
    let reject: (error: Error) => void = () => undefined;
    this.promise = new Promise((yes, no) => {
      resolve = yes;
      reject = no;
    });
    this.#resolve = resolve;
    this.#reject = reject;
  }

  /** True if it is to be counted, and has not been as far as is known. */
  get arrives(): boolean {
    return this.wish.by > 0 && this.rank < 0;
  }

  /** Means another generation from now on, with another id. */
  bind(generation: number, id: string): void {
    this.generation = generation;
    this.id = id;
    this.doubtful = false;
    this.sent = false;
  }

  /**
   * Calls `aborted` when the caller's signal aborts, and `late` when its wait ends. The answer to
   * what was asked before that still counts.
   */
  limit(clock: Clock, late: () => void, aborted: (reason: unknown) => void): void {
    const { signal, wait } = this.wish;
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

  /** The store answered it. */
  hear(now: number): void {
    this.heardAt = now;
    this.trouble = undefined;
  }

  /** Done when it is settled. */
  cleanUp(cleanUp: () => void): void {
    this.#cleanups.push(cleanUp);
  }

  pass(current: number): void {
    const { generation, rank, left } = this;
    if (this.#settle()) this.#resolve({ generation, rank, left, current });
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
