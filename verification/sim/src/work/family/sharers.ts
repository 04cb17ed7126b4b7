/**
 * Sharers of a lease (`sharedBy`): each renews its own hold, and some die while others go on. The
 * hold of a dead one ends by itself (`sharer`, see `watch/holds.ts`).
 */
import type { Lease } from '../../../../../packages/holdfast/dist/index.js';
import { Part, REFUSALS } from './part.js';

export class Sharer extends Part {
  async perform(): Promise<void> {
    const { key, owner = '', steps } = this.task;
    let lease: Lease;
    try {
      const options = { ...this.options(), sharedBy: owner };
      lease = await this.client.holdfast.mutex(key).acquire(options);
    } catch (error) {
      this.expect(error, REFUSALS);
      return;
    }
    this.holds(lease);
    this.sound(lease.holds >= 1);
    for (const step of steps) if ('ms' in step) await this.rest(step.ms);
    try {
      await lease.release();
    } catch (error) {
      this.expect(error, ['HOLDFAST_UNCERTAIN', 'HOLDFAST_LOST']);
    }
  }
}
