/**
 * One who gave a lease up to wait for a signal.
 *
 *     parking --parked--> asleep --signal--> waiting in the queue --> granted
 *        |                   |\---its own wish (limit, abort)--> waiting in the queue --> granted
 *        |                    \--the store does not know it any more--> asks as a newcomer
 *        \--lost, refused--> settled: the lease is over, or is kept
 *
 * Nothing is asked before the store has answered what was sent under the lease; a sleeper that ends
 * before that has its lease still. Until the store has said that it is parked, the lease may be
 * held: it is kept alive, so that asking again finds it, but nobody is told that it is held. Asking
 * again with the same id changes nothing (I3), so a lost answer does no harm.
 *
 * Whoever comes back must know whether a signal brought it: one that is told "no" stops waiting,
 * and a signal that was for it would be lost. So "no" is said only if the store said so.
 */
import type { Acquire, AcquireReply, Park, ParkReply } from '../engine/commands.js';
import type { LeaseRecord } from '../lease/lease-record.js';
import type { Moment } from '../lease/suspend-detector.js';
import { Acquisition, type AcquireRequest } from './acquisition.js';

export class ConditionWaiter extends Acquisition {
  /** The lease that is given up. */
  readonly from: LeaseRecord;
  readonly condition: string;
  /** Whether a signal brought it back, as far as that is known. */
  readonly signalled: Promise<boolean>;
  /** True if it failed and has its lease still. */
  kept = false;
  #ready = false;
  #back = false;
  #parked = false;
  #queued = false;
  #gone = false;
  #tell: (signalled: boolean) => void = () => undefined;
  readonly #left: () => void;

  /** @param left called once, when the lease is surely given up */
  constructor(id: string, from: LeaseRecord, condition: string, left: () => void, now: Moment) {
    const { key, weight, terms } = from;
    const wait = Number.POSITIVE_INFINITY;
    const request: AcquireRequest = {
      key,
      weight,
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
   * True once the store knows the lease that is given up, and has answered every request that was
   * sent under it: what is asked before that would find no lease.
   */
  override get ready(): boolean {
    return this.#ready;
  }

  /** To be asked for from here on. */
  begin(): void {
    this.#ready = true;
  }

  /** True once the store has said that it was parked. */
  get parked(): boolean {
    return this.#parked;
  }

  override get asleep(): boolean {
    return this.#parked && !this.#queued && !this.#gone;
  }

  /** True if it wants the permits back, signalled or not. */
  get wantsBack(): boolean {
    return this.#back;
  }

  /** Wants the permits back from here on. To be asked for afterwards. */
  wantBack(): void {
    this.#back = true;
  }

  override command(asked: Acquire): Acquire | Park {
    // who has held comes back, however many wait
    if (this.#gone) return { ...asked, maxQueue: Number.MAX_SAFE_INTEGER };
    const { key, id, ttl, claim, fair, handOffs, channel, token } = asked;
    const { patience, retention, meta } = asked;
    return {
      ...{ op: 'park', key, id: this.from.id, as: id, condition: this.condition },
      ...{ want: this.#back ? 'permits' : 'signal', maxParked: asked.maxQueue },
      ...{ ttl, claim, fair, handOffs, channel, token, patience, retention, meta },
    };
  }

  /** Every answer to what it asked, late or not. */
  told(reply: ParkReply | AcquireReply): void {
    if ('signalled' in reply) this.#tell(reply.signalled);
    if (reply.status === 'queued') this.#queued = true;
    if (reply.status === 'absent' && this.#parked) this.forgotten();
    if (reply.status === 'parked' || reply.status === 'queued') this.leave();
  }

  /** The store does not know it any more; it may have lost more than that. */
  forgotten(): void {
    this.#gone = true;
    this.#tell(true);
  }

  /** It waits in the queue, as a poll said. */
  override moved(): void {
    this.#queued = true;
  }

  /** Nothing more will be heard of what was asked. */
  override unanswered(): void {
    this.#tell(true);
  }

  /** The lease that it had is over. */
  leave(): void {
    if (this.#parked) return;
    this.#parked = true;
    this.#left();
  }

  /** Ends without a grant. False if it has its lease still, as nothing was asked for it. */
  giveUp(): boolean {
    if (this.#ready) this.leave();
    else this.kept = !this.#parked;
    return this.#ready;
  }

  override grant(record: LeaseRecord | null, first?: Promise<void>): void {
    this.leave();
    // with a request under way, its answer says by what
    if (!this.#back || !this.asking) this.#tell(true);
    super.grant(record, first);
  }
}
