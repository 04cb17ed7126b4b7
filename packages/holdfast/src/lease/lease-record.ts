/**
 * What this process knows of one granted acquisition.
 *
 *     held --release--> released        (by its owner; final)
 *       \---expiry on our clock, "absent" from the store, force, close--> lost    (final)
 *
 * A lease whose state is `held` may be in doubt: the machine may have slept, or the lease's time is
 * over and the answer to a renewal may have arrived unread. It is not believed then, and not lost.
 *
 * Invariants: I7 (`validUntil` never lies beyond the server's expiry: it is counted from before the
 * request was sent, less a margin for drift) and I8 (what is released or lost is never extended
 * again: `confirm` looks at the state). Only the keeper and the line write here; a `Lease` is the
 * user's view of it.
 */
import type { Clock } from '../clock.js';
import { HoldfastError } from '../errors.js';
import type { ResolvedAcquireOptions } from '../options.js';
import { quote } from '../text.js';

export type LeaseRecordState = 'held' | 'released' | 'lost';

/** Why a lease was lost. */
export type LossReason =
  | 'expired'
  | 'gone'
  | 'forced'
  | 'max-hold'
  | 'closed'
  | 'parked'
  | 'unlocked';

const LOSS: Record<LossReason, string> = {
  expired: 'it could not be renewed in time',
  gone: 'the store does not know it any more',
  forced: 'it was ended by force',
  'max-hold': 'it was held for as long as maxHold allows',
  closed: 'its Holdfast was closed',
  parked: 'it was given up to wait at a condition, and not had again',
  unlocked: 'its owner ended it with calls.unlock',
};

/** What a store granted, as this process heard of it. */
export interface Grant {
  readonly fence: number;
  readonly handOffs: number;
  readonly holds: number;
  /** When the lease ends on our monotonic clock, by the most cautious reading. */
  readonly validUntil: number;
  /** When the store granted in the order of its queue; a lease that was passed on keeps it. */
  readonly since: number;
}

/** By how much two clocks may differ in speed. */
export const DRIFT = 0.01;

/** The part of a lease that may pass unnoticed because two clocks differ in speed: 1 % and 2 ms. */
export function drift(lease: number): number {
  return lease * DRIFT + 2;
}

/** The shortest lease, to the millisecond, of which at least `ms` are left after the drift. */
export function withDrift(ms: number): number {
  return Math.ceil((ms + 2) / 0.99) + 1;
}

export class LeaseRecord {
  readonly key: string;
  readonly id: string;
  weight: number;
  readonly terms: ResolvedAcquireOptions;
  fence: number;
  /** Holds of the owner's lease, as the store last said here; 1 without an owner. */
  holds: number;
  handOffs: number;
  readonly since: number;
  /** True once it was passed on here, so that a reserved fence was used. */
  passedOn = false;
  /** When renewal gives up for good. */
  readonly holdUntil: number;
  /** False while the store has not answered that the lease was passed on to this acquisition. */
  confirmed: boolean = true;
  /** Set if it was granted to somebody who had waited at a condition. */
  origin: { readonly id: string; readonly condition: string } | undefined;
  /** Signals that its holder has sent; each comes after the one before is answered. */
  signals = 0;
  signalling: Promise<unknown> = Promise.resolve();
  /** Resolves when the store has answered that, or never will. */
  settled: Promise<void> | undefined;
  /** True when the store has answered its release. */
  answered: boolean = false;
  state: LeaseRecordState = 'held';
  reason: LossReason | undefined;
  validUntil: number;
  renewAt: number = Number.POSITIVE_INFINITY;
  renewing = false;
  /** Renewals that were sent and that the store has not answered: an answer may lie in a socket. */
  unanswered = 0;
  /** Set from a renewal that failed until one that succeeded. */
  failing = false;
  /** Set while its end waits for one phase of reading. */
  ending = false;
  /** Ms that the lease had left when the store last granted or extended it. */
  span: number;
  /** True if `onExpiring` was called for the present danger. */
  warned = false;
  /** Until when closing does not give it back: the store is to keep it for some time. */
  keepUntil = 0;
  /** Set when nothing here looks after it any more, nor gives it back: it is the store's. */
  left = false;
  /** Set while the machine may have slept: nothing is believed until the store has answered. */
  doubted = false;
  /** True if the request that it was granted for may arrive once more. */
  mayBeDuplicated = false;
  /** Place in the keeper's heap. */
  rank = -1;
  /** What the heap is ordered by: when the keeper has to look again. */
  due = 0;
  readonly #clock: Clock;
  #controller: AbortController | undefined;

  constructor(
    clock: Clock,
    asked: { key: string; id: string; weight: number; terms: ResolvedAcquireOptions },
    grant: Grant,
  ) {
    this.#clock = clock;
    this.key = asked.key;
    this.id = asked.id;
    this.weight = asked.weight;
    this.terms = asked.terms;
    this.fence = grant.fence;
    this.holds = grant.holds;
    this.handOffs = grant.handOffs;
    this.since = grant.since;
    this.holdUntil = clock.now() + asked.terms.maxHold;
    this.validUntil = Math.min(grant.validUntil, this.holdUntil);
    this.span = this.validUntil - clock.now();
  }

  /** True if the keeper is to extend it: it is renewed, and `maxHold` allows it. */
  get renews(): boolean {
    return this.terms.renew && this.validUntil < this.holdUntil;
  }

  /** When it has ended in the store too: a renewal without an answer may have extended it. */
  get endsBy(): number {
    if (this.unanswered === 0) return this.validUntil;
    return Math.max(this.validUntil, this.#clock.now() + this.terms.ttl);
  }

  /** True if the lease's time is over and no answer that has arrived can extend it. */
  get over(): boolean {
    if (this.#clock.now() < this.validUntil) return false;
    return this.unanswered === 0 || this.validUntil >= this.holdUntil;
  }

  /** Milliseconds that the lease surely still runs. */
  get remaining(): number {
    if (this.state !== 'held' || this.doubted) return 0;
    return Math.max(0, this.validUntil - this.#clock.now());
  }

  /** True if it was never passed on and never will be, see `Release.unpassed`. */
  get unpassed(): boolean {
    return this.state !== 'held' && !this.passedOn;
  }

  /**
   * Passes the lease on: what a successor with this ttl has from now on. The store counts the ttl
   * from when it is told, which is later (I7).
   */
  handOff(ttl: number): Grant {
    this.passedOn = true;
    const { fence, handOffs, since } = this;
    const validUntil = Math.min(this.validUntil, this.#clock.now() + ttl - drift(ttl));
    return { fence: fence + 1, handOffs: handOffs - 1, holds: 1, validUntil, since };
  }

  /**
   * Aborts when the lease is lost. Looking at it notices a deadline that passed while the event
   * loop stood still, unless the answer to a renewal may have arrived meanwhile.
   */
  get signal(): AbortSignal {
    if (this.state === 'held' && this.over) this.lose(this.endReason());
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.state === 'lost') this.#controller.abort(this.lossError());
    }
    return this.#controller.signal;
  }

  /** Takes its signal away, for another grip to go on with: nobody hears of its loss. */
  detach(): AbortController {
    const controller = this.#controller ?? new AbortController();
    this.#controller = undefined;
    return controller;
  }

  /** Goes on with the signal of another. */
  attach(controller: AbortController): void {
    this.#controller = controller;
    if (this.state === 'lost') controller.abort(this.lossError());
  }

  endReason(): LossReason {
    return this.validUntil >= this.holdUntil ? 'max-hold' : 'expired';
  }

  /**
   * The store says that the lease runs on. Never shortens what is known, unless that is in doubt.
   */
  confirm(validUntil: number): void {
    if (this.state !== 'held') return;
    const known = this.doubted ? validUntil : Math.max(this.validUntil, validUntil);
    const before = this.validUntil;
    this.validUntil = Math.min(known, this.holdUntil);
    this.doubted = false;
    this.failing = false;
    if (this.validUntil > before) this.span = this.validUntil - this.#clock.now();
  }

  /** The store gave the lease another weight, and with more of it another fence. */
  resized(weight: number, fence: number): void {
    this.weight = weight;
    this.fence = fence;
  }

  lose(reason: LossReason): void {
    if (this.state === 'held') this.#end(reason);
  }

  /** It turned out, after it was given back, that it had ended before, or is over for good. */
  foundLost(reason: LossReason): void {
    this.#end(reason);
  }

  #end(reason: LossReason): void {
    this.state = 'lost';
    this.reason = reason;
    this.#controller?.abort(this.lossError());
  }

  lossError(): HoldfastError {
    const why = LOSS[this.reason ?? 'expired'];
    const message = `Holdfast: the lease of ${quote(this.key)} was lost: ${why}`;
    return new HoldfastError('HOLDFAST_LOST', message, { key: this.key });
  }
}
