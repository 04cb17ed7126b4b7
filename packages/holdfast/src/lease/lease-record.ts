/**
 * The lease record: the state of one granted acquisition in this process.
 *
 *     held --release--> released        (by its holder; final)
 *       \---expiry on our clock, "absent" from the store, force, close--> lost    (final)
 *
 * A lease whose state is `held` may be in doubt: the machine may have been suspended, or the time
 * of the lease is over and the answer to a renewal may have arrived unread. A lease in doubt is not
 * believed, and not lost.
 *
 * Only this file writes `state`, `reason` and `validUntil`; a test holds this.
 *
 * Invariants: I7 (`validUntil` is never later than the expiry at the server: it is counted from
 * before the request was sent, minus a margin for drift) and I8 (a lease that is released or lost
 * is never extended again: `confirm` checks the state). A `Lease` is the view of the user.
 */
import { HoldfastError } from '../errors.js';
import type { ResolvedAcquireOptions } from '../options.js';
import { quote } from '../text.js';
import type { LeaseObserver } from './lease-observer.js';
import { expiry, LOSS, type LossReason } from './loss.js';
import type { RenewalGroup } from './renewal-groups.js';
import type { Telemetry } from '../telemetry.js';

export type LeaseRecordState = 'held' | 'released' | 'lost';

/** A grant of the store, as this process received it. */
export interface Grant {
  readonly fence: number;
  readonly handOffs: number;
  readonly holds: number;
  /** When the lease ends on the local monotonic clock, by the most cautious estimate. */
  readonly validUntil: number;
  /** When the store granted in queue order; a lease that was handed off keeps this time. */
  readonly since: number;
}

const NO_SIGNAL = Promise.resolve();
/** The most by which the speeds of two clocks differ. */
export const DRIFT = 0.01;

/** The part of a lease that may pass unnoticed because two clocks differ in speed: 1 % and 2 ms. */
export function drift(lease: number): number {
  return lease * DRIFT + 2;
}

/** The shortest lease, in whole ms, of which at least `ms` remain after the drift margin. */
export function withDrift(ms: number): number {
  return Math.ceil((ms + 2) / 0.99) + 1;
}

export class LeaseRecord {
  readonly key: string;
  readonly id: string;
  weight: number;
  terms: ResolvedAcquireOptions;
  fence: number;
  /** The holds of the owner, as the store last reported them here; 1 without an owner. */
  holds: number;
  handOffs: number;
  readonly since: number;
  readonly grantedAt: number;
  /** How many times the root was handed off here before this lease. */
  index = 0;
  /** The last lease of the same root. */
  #root: { latest: LeaseRecord } | undefined;
  observer: LeaseObserver | undefined;
  /** When renewal stops because of `maxHold`. */
  readonly holdUntil: number;
  /** Set if it was granted after a wait at a condition. */
  origin: { readonly id: string; readonly condition: string } | undefined;
  /** Changes of the weight that were requested; each request has its number. */
  changes = 0;
  /** Signals that the holder has sent; each is sent after the answer to the one before. */
  signals = 0;
  signalling: Promise<unknown> = NO_SIGNAL;
  state: LeaseRecordState = 'held';
  reason: LossReason | undefined;
  validUntil: number;
  /** As `validUntil`, without `maxHold`: the store certainly keeps the root until then. */
  storeUntil: number;
  renewAt: number = Number.POSITIVE_INFINITY;
  renewing = false;
  /** Renewals without an answer: the answer may lie unread in a socket. */
  unanswered = 0;
  /** The error of the last renewal, if it failed. */
  failure: Error | undefined;
  /** Set while its end waits for one phase of reading. */
  ending = false;
  /** The remaining ms of the lease when the store last granted or extended it. */
  span: number;
  /** True if `onExpiring` was called for the current danger. */
  warned = false;
  /** Until when a close does not release it: the store must keep it for some time. */
  keepUntil = 0;
  /** Set when it is left to the store: this process neither renews nor releases it. */
  detached = false;
  /** Set after a possible suspend, until the store has answered: the lease is not believed. */
  doubted = false;
  /** True if the store may receive a late duplicate of the request for it. */
  mayBeDuplicated = false;
  /** True while the watchdog renews and ends it. */
  watched = false;
  /** The group in which it waits for its renewal, if it is not in the heap of the watchdog. */
  group: RenewalGroup | undefined;
  /** The index in the group or in the heap. */
  rank = -1;
  /** The order in the heap: when the watchdog has to check it again. */
  due = 0;
  readonly #telemetry: Telemetry;
  #controller: AbortController | undefined;

  constructor(
    telemetry: Telemetry,
    asked: { key: string; id: string; weight: number; terms: ResolvedAcquireOptions },
    grant: Grant,
  ) {
    this.#telemetry = telemetry;
    this.key = asked.key;
    this.id = asked.id;
    this.weight = asked.weight;
    this.terms = asked.terms;
    this.fence = grant.fence;
    this.holds = grant.holds;
    this.handOffs = grant.handOffs;
    this.since = grant.since;
    const now = telemetry.clock.now();
    this.grantedAt = now;
    this.holdUntil = now + asked.terms.maxHold;
    this.storeUntil = grant.validUntil;
    this.validUntil = Math.min(grant.validUntil, this.holdUntil);
    this.span = this.validUntil - now;
  }

  /** True if the watchdog must extend it: it is renewed, and `maxHold` allows it. */
  get renews(): boolean {
    return this.terms.renew && this.validUntil < this.holdUntil;
  }

  /** When it has ended in the store too: a renewal without an answer may have extended it. */
  get endsBy(): number {
    if (this.unanswered === 0) return this.storeUntil;
    return Math.max(this.storeUntil, this.#telemetry.clock.now() + this.terms.ttl);
  }

  /** True if the time of the lease is over and no answer that has arrived can extend it. */
  get over(): boolean {
    if (this.#telemetry.clock.now() < this.validUntil) return false;
    return this.unanswered === 0 || this.validUntil >= this.holdUntil;
  }

  /** The ms for which the lease is certainly held. */
  get remaining(): number {
    return this.remainingAt(this.#telemetry.clock.now());
  }

  /** The same, for a caller that has just read the clock. */
  remainingAt(now: number): number {
    if (this.state !== 'held' || this.doubted) return 0;
    return Math.max(0, this.validUntil - now);
  }

  /** The id for the user: a root that was handed off has one for each lease. */
  get name(): string {
    return this.index === 0 ? this.id : `${this.id}/${this.index}`;
  }

  /** The fence of the root. */
  get rootFence(): number {
    return this.fence - this.index;
  }

  /** The lease of the same root that is held now, or was last. */
  get latest(): LeaseRecord {
    return this.#root?.latest ?? this;
  }

  /** True if it was never handed off and never will be, see `Release.unpassed`. */
  get unpassed(): boolean {
    return this.state !== 'held' && this.index === 0 && this.#root === undefined;
  }

  /** Ends the lease here, and returns that of the next task. Both end when the root ends (I7). */
  handOff(terms: ResolvedAcquireOptions): LeaseRecord {
    const { id, key, weight } = this;
    const next = new LeaseRecord(
      this.#telemetry,
      { key, id, weight, terms },
      {
        fence: this.fence + 1,
        handOffs: this.handOffs - 1,
        holds: 1,
        validUntil: this.storeUntil,
        since: this.since,
      },
    );
    next.index = this.index + 1;
    next.#root = this.#root ?? { latest: next };
    next.#root.latest = next;
    this.#root = next.#root;
    next.#continue(this);
    this.observer = undefined;
    this.release();
    return next;
  }

  /** Takes over the state that belongs to the root. */
  #continue(before: LeaseRecord): void {
    this.observer = before.observer;
    this.span = before.span;
    this.renewAt = before.renewAt;
    this.renewing = before.renewing;
    this.unanswered = before.unanswered;
    this.failure = before.failure;
    this.mayBeDuplicated = before.mayBeDuplicated;
    this.signals = before.signals;
    this.signalling = before.signalling;
  }

  /**
   * Aborts when the lease is lost. Reading it detects a deadline that passed while the event loop
   * was blocked, unless the answer to a renewal may have arrived meanwhile.
   */
  get signal(): AbortSignal {
    if (this.state === 'held' && this.over) this.lose(this.endReason());
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.state === 'lost') this.#controller.abort(this.lossError());
    }
    return this.#controller.signal;
  }

  /** Detaches the signal for another lease record: a loss of this one no longer aborts it. */
  detach(): AbortController {
    const controller = this.#controller ?? new AbortController();
    this.#controller = undefined;
    return controller;
  }

  /** Continues with the signal of another record. */
  attach(controller: AbortController): void {
    this.#controller = controller;
    if (this.state === 'lost') controller.abort(this.lossError());
  }

  endReason(): LossReason {
    return this.validUntil >= this.holdUntil ? 'max-hold' : 'expired';
  }

  /**
   * The store confirmed the lease until `validUntil`. A known later end stays, unless the lease is
   * in doubt. `now`: for a caller that has just read the clock.
   */
  confirm(validUntil: number, now: number = this.#telemetry.clock.now()): void {
    if (this.state !== 'held') return;
    this.storeUntil = this.doubted ? validUntil : Math.max(this.storeUntil, validUntil);
    const before = this.validUntil;
    this.validUntil = Math.min(this.storeUntil, this.holdUntil);
    this.doubted = false;
    this.failure = undefined;
    if (this.validUntil > before) this.span = this.validUntil - now;
  }

  /** The store changed the weight of the lease, and for a greater weight also its fence. */
  resized(weight: number, fence: number): void {
    this.weight = weight;
    this.fence = fence;
  }

  /** Its owner ends it. Nothing changes if it has ended before. */
  release(): void {
    if (this.state !== 'held') return;
    this.state = 'released';
    this.observer?.ended(this);
  }

  lose(reason: LossReason): void {
    if (this.state === 'held') this.#end(reason);
  }

  /** Marks a lease as lost that was released here, but had ended before or is over. */
  foundLost(reason: LossReason): void {
    this.#end(reason);
  }

  #end(reason: LossReason): void {
    this.reason = reason;
    if (this.state !== 'lost') this.#telemetry.lost(this);
    this.state = 'lost';
    this.#controller?.abort(this.lossError());
    this.observer?.ended(this);
  }

  lossError(): HoldfastError {
    const { key, reason = 'expired', failure: cause } = this;
    const why = reason === 'expired' ? expiry(this) : (LOSS[reason] ?? reason);
    const message = `Holdfast: the lease of ${quote(key)} was lost: ${why}`;
    return new HoldfastError('HOLDFAST_LOST', message, { key, cause });
  }
}
