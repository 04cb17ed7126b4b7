/** A process takes a lock again and again, and holds it for a moment. */
import { Part, REFUSALS } from './part.js';

export class Turns extends Part {
  async perform(): Promise<void> {
    const { key, weight, steps } = this.task;
    const mutex = this.client.holdfast.mutex(key);
    for (let left = weight; left > 0; left--) {
      try {
        const lease = await mutex.acquire(this.options());
        this.world.grants += 1;
        const over = this.holdsToo(key, lease);
        for (const step of steps) if ('ms' in step) await this.rest(step.ms);
        await lease.release();
        over();
      } catch (error) {
        this.expect(error, [...REFUSALS, 'HOLDFAST_UNCERTAIN']);
      }
    }
  }
}
