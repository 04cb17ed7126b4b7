/**
 * The wait at a condition: a lease is given up, and an acquisition of its own takes the lock back.
 *
 *     parking --parked--> asleep --signal--> waiting in the queue --> granted
 *        |                   |\---limit or abort--> waiting in the queue --> granted
 *        |                    \--unknown to the store--> sends a new acquire request
 *        \--lost, refused--> settled: the lease is over, or is kept
 *
 * No request is sent before the store has answered all requests of the lease; a wait that ends
 * before keeps the lease. Until the store has confirmed the parking, the lease is renewed, so that
 * a repeated request finds it, but not reported as held.
 *
 * The acquisition asks with `park` commands until the store has forgotten it: after a fail-over,
 * the store may have it back at its condition.
 *
 * A waiter that is told "no signal" stops waiting, and a signal meant for it would be lost. So the
 * answer is "no" only if the store said so.
 */
import type { Acquire, AcquireReply, Park, ParkReply } from '../../engine/commands.js';
import type { Hold } from '../../lease/root.js';
import type { Acquisition } from '../acquisition.js';
import { type AcquireRequest, Call } from '../call.js';

export class Parked {
  readonly from: Hold;
  readonly condition: string;
  readonly acquisition: Acquisition;
  readonly call: Call<Acquisition>;
  /** Whether a signal woke it, as far as known. */
  readonly signalled: Promise<boolean>;
  /** It failed and still has its lease. */
  kept = false;
  confirmed = false;
  /**
   * The store knows the lease and has answered every request under it: an earlier request would not
   * find the lease.
   */
  ready = false;
  wantsBack = false;
  queued = false;
  #forgotten = false;
  #tell: (signalled: boolean) => void = () => undefined;
  readonly #left: () => void;

  /** @param left called once, when the lease is certainly given up */
  constructor(
    from: Hold,
    condition: string,
    left: () => void,
    acquisition: (request: AcquireRequest, parked: Parked) => Acquisition,
  ) {
    const { key, terms, root } = from;
    const { weight } = root;
    this.from = from;
    this.condition = condition;
    this.#left = left;
    this.signalled = new Promise((resolve) => {
      this.#tell = resolve;
    });
    const back = { ...terms, wait: Number.POSITIVE_INFINITY, signal: undefined };
    const request = { key, weight, kind: 'mutex', capacity: 1, terms: back } as const;
    this.acquisition = acquisition(request, this);
    this.call = new Call(request, this.acquisition, this.acquisition.arrived);
    this.acquisition.call = this.call;
  }

  get asleep(): boolean {
    return this.confirmed && !this.queued && !this.#forgotten;
  }

  command(asked: Acquire): Acquire | Park {
    // a former holder is admitted to a full queue
    if (this.#forgotten) return { ...asked, maxQueue: Number.MAX_SAFE_INTEGER };
    const { key, id, ttl, claim, fair, channel, token } = asked;
    const { patience, retention, meta } = asked;
    return {
      ...{ op: 'park', key, id: this.from.id, as: id, condition: this.condition },
      ...{ want: this.wantsBack ? 'permits' : 'signal', maxParked: asked.maxQueue },
      used: this.from.fence,
      ...{ ttl, claim, fair, channel, token, patience, retention, meta },
    };
  }

  answered(reply: ParkReply | AcquireReply): void {
    if ('signalled' in reply) this.#tell(reply.signalled);
    // granted before its first reply came: only a signal can have moved it
    else if (this.acquisition.settled) this.#tell(true);
    if (reply.status === 'queued') this.queued = true;
    if (reply.status === 'absent' && this.confirmed) {
      // the store may have lost other data too
      this.#forgotten = true;
      this.#tell(true);
    }
    if (reply.status === 'parked' || reply.status === 'queued') this.leave();
  }

  unanswered(): void {
    this.#tell(true);
  }

  granted(): void {
    this.leave();
    // the reply to a request says whether a signal woke it
    if (!this.wantsBack || this.acquisition.asking === false) this.#tell(true);
  }

  /** False if no request was sent, so that it still has its lease. */
  giveUp(): boolean {
    if (this.ready) this.leave();
    else this.kept = !this.confirmed;
    return this.ready;
  }

  leave(): void {
    if (this.confirmed) return;
    this.confirmed = true;
    this.#left();
  }
}
