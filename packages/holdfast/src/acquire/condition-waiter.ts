/**
 * An acquisition that gave a lease up to wait for a signal.
 *
 *     parking --parked--> asleep --signal--> waiting in the queue --> granted
 *        |                   |\---limit or abort--> waiting in the queue --> granted
 *        |                    \--unknown to the store--> sends a new acquire request
 *        \--lost, refused--> settled: the lease is over, or is kept
 *
 * No request is sent before the store has answered all requests of the lease. A condition waiter
 * that ends before that keeps its lease. Until the store has confirmed the parking, the lease may
 * still be held: it is renewed, so that a repeated request finds it, but it is not reported as
 * held. A repeated request with the same id changes nothing (I3), so a lost answer does no harm.
 *
 * A waiter that comes back must know whether a signal woke it. If it is told "no", it stops
 * waiting, and a signal meant for it would be lost. So the answer is "no" only if the store said
 * so.
 */
import type { Acquire, AcquireReply, Park, ParkReply } from '../engine/commands.js';
import type { Hold } from '../lease/root.js';
import type { Moment } from '../lease/suspend-detector.js';
import { Acquisition } from './acquisition.js';
import type { AcquireRequest } from './call.js';

export class ConditionWaiter extends Acquisition {
  /** The lease that is given up. */
  readonly from: Hold;
  readonly condition: string;
  /** Resolves to whether a signal woke it, as far as that is known. */
  readonly signalled: Promise<boolean>;
  /** True if it failed and still has its lease. */
  kept = false;
  #ready = false;
  #back = false;
  #parked = false;
  #queued = false;
  #gone = false;
  #tell: (signalled: boolean) => void = () => undefined;
  readonly #left: () => void;

  /** @param left called once, when the lease is certainly given up */
  constructor(id: string, from: Hold, condition: string, left: () => void, now: Moment) {
    const { key, terms, root } = from;
    const { weight } = root;
    const wait = Number.POSITIVE_INFINITY;
    const request: AcquireRequest = {
      key,
      weight,
      kind: 'mutex',
      capacity: 1,
      terms: { ...terms, wait, signal: undefined },
    };
    super(id, request, now);
    this.from = from;
    this.condition = condition;
    this.#left = left;
    this.origin = { id: from.id, condition };
    this.signalled = new Promise((resolve) => {
      this.#tell = resolve;
    });
  }

  /**
   * True once the store knows the lease and has answered every request that was sent under it. An
   * earlier park request would not find the lease.
   */
  override get ready(): boolean {
    return this.#ready;
  }

  /** Allows its request to be sent. */
  begin(): void {
    this.#ready = true;
  }

  /** True once the store has confirmed the parking. */
  get parked(): boolean {
    return this.#parked;
  }

  override get asleep(): boolean {
    return this.#parked && !this.#queued && !this.#gone;
  }

  /** True if it wants the permits back, with or without a signal. */
  get wantsBack(): boolean {
    return this.#back;
  }

  /** Makes it want the permits back. The caller sends the request. */
  wantBack(): void {
    this.#back = true;
  }

  override command(asked: Acquire): Acquire | Park {
    // a former holder is admitted even if the queue is full
    if (this.#gone) return { ...asked, maxQueue: Number.MAX_SAFE_INTEGER };
    const { key, id, ttl, claim, fair, channel, token } = asked;
    const { patience, retention, meta } = asked;
    return {
      ...{ op: 'park', key, id: this.from.id, as: id, condition: this.condition },
      ...{ want: this.#back ? 'permits' : 'signal', maxParked: asked.maxQueue },
      used: this.from.fence,
      ...{ ttl, claim, fair, channel, token, patience, retention, meta },
    };
  }

  /** Handles every reply to its requests, also late ones. */
  onReply(reply: ParkReply | AcquireReply): void {
    if ('signalled' in reply) this.#tell(reply.signalled);
    // granted before the reply to its first request came: only a signal can have moved it
    else if (this.settled) this.#tell(true);
    if (reply.status === 'queued') this.#queued = true;
    if (reply.status === 'absent' && this.#parked) this.forgotten();
    if (reply.status === 'parked' || reply.status === 'queued') this.leave();
  }

  /** The store does not know it any more, and may have lost other data too. */
  forgotten(): void {
    this.#gone = true;
    this.#tell(true);
  }

  /** A poll reported that it waits in the queue. */
  override moved(): void {
    this.#queued = true;
  }

  /** No reply will follow. */
  override unanswered(): void {
    this.#tell(true);
  }

  /** Ends the lease that it gave up. */
  leave(): void {
    if (this.#parked) return;
    this.#parked = true;
    this.#left();
  }

  /** Ends without a grant. False if no request was sent, so that it still has its lease. */
  giveUp(): boolean {
    if (this.#ready) this.leave();
    else this.kept = !this.#parked;
    return this.#ready;
  }

  override grant(hold: Hold | null, first?: Promise<void>): void {
    this.leave();
    // if a request is under way, its reply says whether a signal woke it
    if (!this.#back || !this.asking) this.#tell(true);
    super.grant(hold, first);
  }
}
