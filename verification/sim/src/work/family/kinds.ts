/**
 * Calls of different kinds on one key. While a lease of one kind is held, every call of another
 * kind is refused with `HOLDFAST_MISMATCH` and changes nothing (`kind`, see also `watch/kinds.ts`).
 */
import type { Lease } from '../../../../../packages/holdfast/dist/index.js';
import type { Attempt } from '../attempt.js';
import { Part, REFUSALS } from './part.js';

export type KindCall =
  | ('mutex' | 'read' | 'write' | 'semaphore' | 'flight')
  | ('setPermits' | 'changePermits' | 'available' | 'drain' | 'whenPermits');

/** The calls that are drawn; those that hold are more frequent. */
export const KIND_CALLS: readonly KindCall[] = [
  ...(['mutex', 'mutex', 'read', 'write', 'semaphore', 'semaphore', 'flight'] as const),
  ...(['setPermits', 'changePermits', 'available', 'drain', 'whenPermits'] as const),
];

/** The kinds of the calls that acquire. */
const KINDS: Readonly<Partial<Record<KindCall, string>>> = {
  ...{ mutex: 'mutex', read: 'rw', write: 'rw', flight: 'flight' },
};

/**
 * The results that are right if another kind is held. A change without a reply is uncertain, and a
 * server whose memory is full refuses a call before it looks at kinds.
 */
const RIGHT = [
  ...['HOLDFAST_MISMATCH', 'HOLDFAST_ABORTED', 'HOLDFAST_UNREACHABLE', 'HOLDFAST_CLOSED'],
  ...['HOLDFAST_UNCERTAIN', 'HOLDFAST_REFUSED'],
];
const LOST = ['HOLDFAST_LOST', 'HOLDFAST_UNCERTAIN'];

/** The leases of each key that tasks of these kinds hold. */
const HELD = new WeakMap<object, Map<Attempt, string>>();

export class Kinds extends Part {
  async perform(): Promise<void> {
    const others = this.#others();
    let code = 'none';
    try {
      await this.#call();
    } catch (error) {
      code = this.expect(error, [...REFUSALS, ...LOST, 'HOLDFAST_MISMATCH']);
    }
    if (!RIGHT.includes(code)) this.#judge(others, code);
  }

  get #name(): KindCall {
    return this.task.call ?? 'mutex';
  }

  get #kind(): string {
    return KINDS[this.#name] ?? 'semaphore';
  }

  get #held(): Map<Attempt, string> {
    let held = HELD.get(this.world);
    if (held === undefined) HELD.set(this.world, (held = new Map()));
    return held;
  }

  /** The attempts that hold the key with another kind now. */
  #others(): Attempt[] {
    const all = [...this.#held].filter(([one, kind]) => kind !== this.#kind && isHeld(one));
    return all.map(([one]) => one);
  }

  /** None of those that held it at the call holds it still. */
  #judge(before: readonly Attempt[], code: string): void {
    // without a reply that names the other kind, a call that is over may say something else
    const { watch, server, plan } = this.world;
    if (plan.profile === 'amnesia' || !server.up) return;
    const still = before.find(
      (one) => isHeld(one) && !watch.excuses(this.task.key, one.lease?.fence ?? 0),
    );
    if (still === undefined) return;
    const text = `${this.task.name} (${this.#name}) ended with ${code}: ${still.name} holds it`;
    this.world.report('kind', this.task.key, text);
  }

  async #call(): Promise<void> {
    const { key, capacity, weight } = this.task;
    const { holdfast } = this.client;
    const semaphore = holdfast.semaphore(key, { permits: capacity });
    switch (this.#name) {
      case 'mutex':
        return this.#hold(await holdfast.mutex(key).acquire(this.options()));
      case 'read':
      case 'write':
        return this.#hold(await holdfast.rwLock(key)[this.#name as 'read'].acquire(this.options()));
      case 'semaphore':
        return this.#hold(await semaphore.acquire(Math.min(weight, capacity), this.options()));
      case 'drain': {
        const lease = await semaphore.drain(this.options());
        return lease === null ? undefined : this.#hold(lease);
      }
      case 'setPermits':
        return semaphore.setPermits(capacity + 1);
      case 'changePermits':
        return void (await semaphore.changePermits(1));
      case 'available':
        return void (await semaphore.available());
      case 'whenPermits':
        return void (await semaphore.whenPermits(1, { wait: this.task.ttl }));
      case 'flight':
        return void (await holdfast.singleFlight(key).do(async (lease) => this.#rest(lease)));
    }
  }

  async #hold(lease: Lease): Promise<void> {
    await this.#rest(lease);
    try {
      await lease.release();
    } catch (error) {
      this.expect(error, LOST);
    }
  }

  async #rest(lease: Lease): Promise<void> {
    this.holds(lease);
    this.#held.set(this.attempt, this.#kind);
    for (const step of this.task.steps) if ('ms' in step) await this.rest(step.ms);
    this.#held.delete(this.attempt);
  }
}

function isHeld({ lease, client }: Attempt): boolean {
  return client.process.alive && !client.process.stopped && lease?.held === true;
}
