/**
 * Calls of one process that share a root. What one of them does to its lease (it ends the renewal,
 * it has `maxHold`, it hands the lease over) must not reach the next one.
 *
 * - `lapsed`: an undisturbed call that renews its lease does not lose it;
 * - `cut`: a lease does not end by `maxHold` before that time;
 * - `order`: fair calls of one step get the lock in the order of the calls;
 * - `outcome`: a lease that was handed over is kept by a release of its first process.
 */
import type { Lease } from '../../../../../packages/holdfast/dist/index.js';
import type { Change } from '../../plan/plan.js';
import { checkRenewed, steady } from '../../watch/needless.js';
import type { World } from '../../world/world.js';
import { Part, REFUSALS } from './part.js';

/** Worlds in which a lease of such a call was lost: the calls behind it ask anew. */
const LOSSY = new WeakSet<World>();
/** The part of `maxHold` that a lease may lack: clocks differ, and a renewal takes time. */
const WHOLE = 0.95;
/** A lease that ends so soon before `maxHold`, in ms, ends because of it: see `Hold.endReason`. */
const NEAR_MS = 50;

export class Shared extends Part {
  /** The last call that was granted. */
  #last = -1;

  async perform(): Promise<void> {
    const { changes = [] } = this.task;
    await Promise.all(changes.map((change, index) => this.#call(change, index)));
  }

  async #call(change: Change, index: number): Promise<void> {
    const { key } = this.task;
    const { ttl, ms, maxHold, stops, heir, keeps = 0 } = change;
    const limit = maxHold === undefined ? {} : { maxHold };
    let lease: Lease;
    try {
      lease = await this.client.holdfast.mutex(key).acquire({ ...this.options(), ttl, ...limit });
    } catch (error) {
      this.expect(error, REFUSALS);
      return;
    }
    this.world.grants += 1;
    this.#inOrder(index);
    const over = this.holdsToo(key, lease);
    const ended = this.#watch(lease, change);
    if (stops === true) lease.stopRenewal();
    await this.rest(ms);
    ended();
    const to = this.heir(heir);
    if (to !== undefined && lease.held) {
      this.handOver(lease, to, { work: () => to.process.sleep(keeps) });
      await this.#release(lease, ['kept']);
    } else await this.#release(lease, ['freed', 'lost']);
    over();
  }

  /** Asserts that the lease lasts as long as this call asked for. Returns the end of the watch. */
  #watch({ signal }: Lease, { ttl, maxHold, stops }: Change): () => void {
    const { key, name } = this.task;
    const since = this.client.process.time;
    const from = this.client.process.now();
    const lost = (): void => {
      LOSSY.add(this.world);
      const held = this.client.process.now() - from;
      if (String(signal.reason).includes('maxHold')) {
        if (maxHold !== undefined && held >= Math.min(WHOLE * maxHold, maxHold - NEAR_MS)) return;
        return this.world.report('cut', key, `${name} ended by maxHold after ${held} ms`);
      }
      if (stops !== true) checkRenewed(this.world, this.client, { ttl, since, name, key });
    };
    if (signal.aborted) lost();
    else signal.addEventListener('abort', lost, { once: true });
    return () => signal.removeEventListener('abort', lost);
  }

  /**
   * Requests of one process arrive in the order of the calls, if none of them is lost, and a grant
   * lasts until it is renewed.
   */
  #inOrder(index: number): void {
    const { fair, key, name, ttl } = this.task;
    const isSure = this.world.plan.profile !== 'amnesia' && !LOSSY.has(this.world);
    const isClear = steady(this.world, this.client, ttl, this.attempt.askedAt);
    if (fair && isSure && isClear && index < this.#last) {
      this.world.report('order', key, `${name}: call ${index} got the lock after ${this.#last}`);
    }
    this.#last = Math.max(this.#last, index);
  }

  async #release(lease: Lease, outcomes: readonly string[]): Promise<void> {
    const { key, name } = this.task;
    try {
      const outcome = await lease.release();
      if (outcomes.includes(outcome)) return;
      this.world.report('outcome', key, `${name} was released as ${outcome}`);
    } catch (error) {
      this.expect(error, ['HOLDFAST_UNCERTAIN']);
    }
  }
}
