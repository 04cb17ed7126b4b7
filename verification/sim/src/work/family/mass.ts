/** Load in one process: one lock, acquired many times in sequence or by many tasks at once. */
import type { Lease } from '../../../../../packages/holdfast/dist/index.js';
import { Part, REFUSALS } from './part.js';

/** The allowed errors for one task of a crowd. */
const CROWDED = [...REFUSALS, 'HOLDFAST_LOST', 'HOLDFAST_UNCERTAIN'];
/** Retentions after which it does not matter how many wait. */
const LAST = 5;
/** Retentions for which a crowd waits: the store may forget it once in each. */
const RETENTIONS = 1.5;

export class Sprint extends Part {
  async perform(): Promise<void> {
    const { key, weight } = this.task;
    const mutex = this.client.holdfast.mutex(key);
    for (let count = 0; count < weight; count++) {
      const lease = await mutex.acquire(this.options());
      this.world.grants += 1;
      try {
        await lease.release();
      } catch (error) {
        this.expect(error, ['HOLDFAST_UNCERTAIN']);
      }
    }
  }
}

/** All wait at a condition, for longer than the retention of a waiter without polls. */
export class Crowd extends Part {
  /** How many have had the lock, and wait for a signal. */
  #asleep = 0;

  async perform(): Promise<void> {
    const { owner } = this.task;
    if (owner === undefined) await this.#wait();
    else await this.#hoard(owner);
  }

  /** An owner acquires hold after hold, until one is refused. */
  async #hoard(owner: string): Promise<void> {
    const mutex = this.client.holdfast.mutex(this.task.key);
    const leases: Lease[] = [];
    for (let count = 0; count < this.task.weight; count++) {
      try {
        leases.push(await mutex.acquire({ ...this.options(), sharedBy: owner }));
      } catch (error) {
        this.expect(error, CROWDED);
      }
    }
    for (const lease of leases) {
      try {
        await lease.release();
      } catch (error) {
        this.expect(error, CROWDED);
      }
    }
  }

  async #wait(): Promise<void> {
    const { retention } = this.client.plan.options;
    const mutex = this.client.holdfast.mutex(this.task.key);
    let left = this.task.weight;
    for (let count = left; count > 0; count--) void this.#one().then(() => (left -= 1));
    for (let waited = 0; this.#asleep < left && waited < LAST * retention; waited += retention) {
      await this.rest(retention);
    }
    await this.rest(retention * RETENTIONS);
    // an acquisition whose message was lost may park after the signal: signal until all are over
    for (let first = true; left > 0; first = false) {
      try {
        await mutex.run(async (lease) => {
          const asleep = this.#asleep;
          const woken = await mutex.condition('crowd').signalAll(lease);
          // those that a signal has woken are in the queue of the lock
          if (first) this.#woken(woken, asleep);
        }, this.options());
      } catch (error) {
        if (this.expect(error, CROWDED) === 'HOLDFAST_CLOSED') return;
      }
      await this.rest(this.task.ttl);
    }
  }

  async #one(): Promise<void> {
    const mutex = this.client.holdfast.mutex(this.task.key);
    try {
      const lease = await mutex.acquire(this.options());
      this.#asleep += 1;
      try {
        await mutex.condition('crowd').await(lease);
      } finally {
        this.#asleep -= 1;
        await lease.release();
      }
    } catch (error) {
      this.expect(error, CROWDED);
    }
  }

  /** The store has not forgotten any of those whose process nothing was in the way of. */
  #woken(woken: number, asleep: number): void {
    const { process, clearSince, plan } = this.client;
    const isClear = clearSince < this.world.scheduler.now - 2 * plan.options.retention;
    const { loose } = this.world.plan.network;
    if (woken >= asleep || !process.alive || !isClear || loose) return;
    const { key, name } = this.task;
    this.world.report('forgotten', key, `${woken} of ${asleep} waiters woken in ${name}`);
  }
}
