/** Much of the same in one process: one lock taken again and again, or by very many at once. */
import { Part, REFUSALS } from './part.js';

/** What one of a crowd may be told. */
const CROWDED = [...REFUSALS, 'HOLDFAST_LOST', 'HOLDFAST_UNCERTAIN'];
/** Retentions for which a crowd waits: it may be forgotten once in each. */
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

/** All wait at a condition, for longer than the store remembers who is not asked about. */
export class Crowd extends Part {
  async perform(): Promise<void> {
    const { retention } = this.client.plan.options;
    const mutex = this.client.holdfast.mutex(this.task.key);
    const all = Array.from({ length: this.task.weight }, () => this.#one());
    await this.rest(retention * RETENTIONS);
    for (let tries = 0; tries < 100; tries++) {
      try {
        await mutex.run(async (lease) => {
          await mutex.condition('crowd').signalAll(lease);
        }, this.options());
        break;
      } catch (error) {
        this.expect(error, CROWDED);
        await this.rest(this.task.ttl);
      }
    }
    await Promise.all(all);
  }

  async #one(): Promise<void> {
    const mutex = this.client.holdfast.mutex(this.task.key);
    try {
      const lease = await mutex.acquire(this.options());
      await mutex.condition('crowd').await(lease);
      await lease.release();
    } catch (error) {
      this.expect(error, CROWDED);
    }
  }
}
