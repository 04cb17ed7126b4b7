/**
 * A root: what the store knows under one id, and how certain that is here. A hold: what one task
 * has of it.
 *
 *     root  held --hand-off--> held by the next task of this process: nothing is sent or copied
 *             \--its hold ends--> over: nothing extends it any more (I8)
 *
 *     hold  held --release, hand-off--> released   (by its task; final)
 *             |---left to the store, or handed over--> left   (nothing is sent for it; final)
 *             \---expiry on our clock, "absent" from the store, force, close--> lost   (final)
 *
 * A root in doubt is not believed, and not lost: the machine may have been suspended, or the time
 * of the lease is over and the answer to a renewal may have arrived unread.
 *
 * Only this file writes `hold`, `storeUntil`, `state` and `reason`; a test holds this. I7:
 * `storeUntil` is never later than the expiry at the server: it is counted from before the request
 * was sent, less a margin for drift.
 */
import { Link } from '../base/chain.js';
import { outside } from '../base/clock.js';
import { HoldfastError } from '../base/errors.js';
import type { ResolvedAcquireOptions } from '../base/options.js';
import type { Telemetry } from '../observe/telemetry.js';
import { quote } from '../base/text.js';
import type { ReleaseOutcome } from './lease.js';
import type { Due } from './due-heap.js';
import { expiry, LOSS, type LossReason } from './loss.js';
import type { RenewalGroup } from './schedule.js';

/**
 * A lease that ends so soon before `maxHold`, in ms, ends because of it. The last renewal may leave
 * less than it asked for: the time of an answer is known by bounds.
 */
const NEAR_MS = 50;

export interface Grant {
  readonly fence: number;
  readonly handOffs: number;
  readonly holds: number;
  /** The end on the local monotonic clock, by the most cautious estimate. */
  readonly validUntil: number;
}

export interface Asked {
  readonly key: string;
  readonly id: string;
  readonly weight: number;
  readonly terms: ResolvedAcquireOptions;
  readonly index?: number;
}

export interface RootObserver {
  ended(root: Root): void;
}

export class Extras {
  origin: { readonly id: string; readonly condition: string } | undefined;
  /** See `Lease.holds`. */
  holds = 1;
  changes = 0;
  signals = 0;
  signalling: Promise<unknown> = Promise.resolve();
}

export class Root extends Link {
  readonly telemetry: Telemetry;
  readonly key: string;
  readonly id: string;
  readonly ttl: number;
  readonly owner: string;
  weight: number;
  /** The fence of the hold with the index 0. */
  fence: number;
  reserved: number;
  storeUntil: number;
  /** Set after a possible suspend, until the store has answered. */
  doubted = false;
  /** The wake channel that the store knows for it, or `''`. */
  channel = '';
  /** The store may receive a late duplicate of the request for it. */
  mayBeDuplicated = false;
  readonly renewal: Renewal;
  /** The hold of the task that has it, or had it last. */
  hold: Hold;
  observer: RootObserver | undefined;
  #extras: Extras | undefined;

  constructor(
    telemetry: Telemetry,
    { key, id, weight, terms, index = 0 }: Asked,
    grant: Grant,
    now: number,
  ) {
    super();
    this.telemetry = telemetry;
    this.key = key;
    this.id = id;
    this.ttl = terms.ttl;
    this.owner = terms.owner;
    this.weight = weight;
    this.fence = grant.fence - index;
    this.reserved = grant.handOffs;
    this.storeUntil = grant.validUntil;
    this.hold = new Hold(this, terms, index, now);
    this.renewal = new Renewal(this);
    if (grant.holds !== 1) this.extras.holds = grant.holds;
  }

  get extras(): Extras {
    return (this.#extras ??= new Extras());
  }

  get holds(): number {
    return this.#extras?.holds ?? 1;
  }

  get origin(): Extras['origin'] {
    return this.#extras?.origin;
  }

  get held(): boolean {
    return this.hold.state === 'held';
  }

  get renews(): boolean {
    return this.hold.renewed && this.storeUntil < this.hold.holdUntil;
  }

  /**
   * It may have ended during the suspend, and a late copy of its request may have been granted
   * under its id since: an answer counts only with the fence.
   */
  get uncertain(): boolean {
    return this.doubted && this.mayBeDuplicated;
  }

  /** When it has ended in the store too: a renewal without an answer may have extended it. */
  get endsBy(): number {
    if (this.renewal.unanswered === 0) return this.storeUntil;
    return Math.max(this.storeUntil, this.telemetry.clock.now() + this.ttl);
  }

  get unpassed(): boolean {
    return this.hold.state !== 'held' && this.hold.index === 0;
  }

  /** Ends the present hold, which is held, and gives the root to the next task. */
  pass(terms: ResolvedAcquireOptions, now: number): Hold {
    const before = this.hold;
    this.reserved -= 1;
    this.hold = new Hold(this, terms, before.index + 1, now);
    before.state = 'released';
    return this.hold;
  }

  /** Confirmed by the store until `storeUntil`. A known later end stays, unless it is in doubt. */
  confirm(storeUntil: number, now: number): void {
    const { hold } = this;
    if (hold.state !== 'held') return;
    const before = this.storeUntil;
    this.storeUntil = this.doubted ? storeUntil : Math.max(this.storeUntil, storeUntil);
    this.doubted = false;
    this.renewal.failure = undefined;
    // what `maxHold` leaves is not more than before
    if (this.storeUntil > before && before < hold.holdUntil) {
      this.renewal.span = hold.validUntil - now;
    }
  }

  resized(weight: number, fence: number): void {
    this.weight = weight;
    this.fence = fence - this.hold.index;
  }
}

/**
 * When the watchdog acts on a root. Only the files of the watchdog write it. It knows no hold: what
 * the present one asks for is read each time it is planned, so nothing that one task asked for is
 * left for the next.
 */
export class Renewal implements Due {
  readonly root: Root;
  watched = false;
  /** When the root is to be renewed, if its hold wants that. */
  at: number = Number.POSITIVE_INFINITY;
  busy = false;
  /** The end of the root waits for one phase of reading. */
  ending = false;
  /** Renewals without an answer, which may lie unread in a socket. */
  unanswered = 0;
  failure: Error | undefined;
  /** The ms that remained when the store last granted or extended the lease. */
  span: number;
  due = 0;
  group: RenewalGroup | undefined;
  rank = -1;
  /** Told when it is certain whether the root is held: confirmed, released or lost. */
  waiting: (() => void)[] | undefined;

  constructor(root: Root) {
    this.root = root;
    this.span = root.hold.validUntil - root.hold.grantedAt;
  }
}

export type HoldState = 'held' | 'released' | 'left' | 'lost';

export class Hold {
  readonly root: Root;
  readonly terms: ResolvedAcquireOptions;
  readonly index: number;
  readonly grantedAt: number;
  /** Renewal stops then because of `maxHold`. */
  readonly holdUntil: number;
  state: HoldState = 'held';
  reason: LossReason | undefined;
  renewed: boolean;
  warned = false;
  /** Its end, if the store has not answered it: a further release asks for what became of it. */
  end: { again(): Promise<ReleaseOutcome> } | undefined;
  /** Until when a close does not release it: the store must keep it for some time. */
  keepUntil = 0;
  #controller: AbortController | undefined;

  constructor(root: Root, terms: ResolvedAcquireOptions, index: number, now: number) {
    this.root = root;
    this.terms = terms;
    this.index = index;
    this.renewed = terms.renew;
    this.grantedAt = now;
    this.holdUntil = now + terms.maxHold;
  }

  get key(): string {
    return this.root.key;
  }

  get id(): string {
    return this.root.id;
  }

  get fence(): number {
    return this.root.fence + this.index;
  }

  /** The id for the user: a root that was handed off has one for each hold. */
  get name(): string {
    return this.index === 0 ? this.id : `${this.id}/${this.index}`;
  }

  /** When it ends here: by the store, or by `maxHold`. */
  get validUntil(): number {
    return Math.min(this.root.storeUntil, this.holdUntil);
  }

  /** Its time is over and no answer that has arrived can extend it. */
  get over(): boolean {
    const { root, validUntil } = this;
    if (root.telemetry.clock.now() < validUntil) return false;
    return root.renewal.unanswered === 0 || validUntil >= this.holdUntil;
  }

  get remaining(): number {
    if (this.state !== 'held' || this.root.doubted) return 0;
    return Math.max(0, this.validUntil - this.root.telemetry.clock.now());
  }

  /**
   * Reading it detects a deadline that passed while the event loop was blocked, unless the answer
   * to a renewal may have arrived meanwhile.
   */
  get signal(): AbortSignal {
    if (this.state === 'held' && this.over) this.lose(this.endReason());
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.state === 'lost') this.#controller.abort(this.lossError());
    }
    return this.#controller.signal;
  }

  abort(reason: unknown): void {
    this.#controller ??= new AbortController();
    this.#controller.abort(reason);
  }

  /** A loss of this hold no longer aborts the signal. */
  detach(): AbortController {
    const controller = this.#controller ?? new AbortController();
    this.#controller = undefined;
    return controller;
  }

  attach(controller: AbortController): void {
    this.#controller = controller;
    if (this.state === 'lost') controller.abort(this.lossError());
  }

  endReason(): LossReason {
    return this.validUntil >= this.holdUntil - NEAR_MS ? 'max-hold' : 'expired';
  }

  leave(state: 'released' | 'left'): void {
    const { root } = this;
    if (this.state !== 'held') return;
    this.state = state;
    if (root.hold === this) root.observer?.ended(root);
  }

  lose(reason: LossReason): void {
    if (this.state === 'held') this.foundLost(reason);
  }

  /** Marks a hold as lost also if it was released here: it had ended before. */
  foundLost(reason: LossReason): void {
    const { root } = this;
    this.reason = reason;
    outside(() => {
      if (this.state !== 'lost') root.telemetry.lost(this);
      this.state = 'lost';
      this.#controller?.abort(this.lossError());
    });
    if (root.hold === this) root.observer?.ended(root);
  }

  lossError(): HoldfastError {
    const { key, reason = 'expired' } = this;
    const why = reason === 'expired' ? expiry(this) : (LOSS[reason] ?? reason);
    const message = `Holdfast: the lease of ${quote(key)} was lost: ${why}`;
    return new HoldfastError('HOLDFAST_LOST', message, { key, cause: this.root.renewal.failure });
  }
}
