/** Two instances on one store in virtual time, for the tests of roots. */
import type { InspectReply, Op } from '../../src/engine/commands.js';
import { type AcquireOptions, Holdfast, type Lease } from '../../src/index.js';
import { later } from '../suites/helpers.js';
import { VirtualClock } from './virtual-clock.js';
import { WatchedStore } from './watched-store.js';

export const OPTIONS = { ttl: 9000, claimWindow: 1000, requestTimeout: 1000, localHandOffs: 2 };

export class RootWorld {
  readonly clock: VirtualClock = new VirtualClock();
  readonly store: WatchedStore = new WatchedStore(this.clock);
  readonly holdfast: Holdfast = new Holdfast(this.store, { ...OPTIONS, clock: this.clock });
  /** Another process. */
  readonly other: Holdfast = new Holdfast(new WatchedStore(this.clock, this.store.inner), {
    ...OPTIONS,
    clock: this.clock,
  });

  take(options?: AcquireOptions): Promise<Lease> {
    return this.holdfast.mutex('k').acquire(options);
  }

  /** The commands that the process has sent since the last call. */
  sent(): Op[] {
    return this.store.batches.splice(0).flatMap((batch) => batch.map(({ op }) => op));
  }

  async inspected(): Promise<InspectReply> {
    const inspect = { op: 'inspect', key: 'k', limit: 9 } as const;
    return (await this.store.inner.execute([inspect])[0]) as InspectReply;
  }

  /** A lease, and tasks that wait behind it. */
  async holding(
    count: number,
    options: AcquireOptions = {},
  ): Promise<{ lease: Lease; waiting: Promise<Lease>[] }> {
    const lease = await this.take();
    const waiting = Array.from({ length: count }, () => later(this.take(options)));
    await this.clock.advance(10);
    this.sent();
    return { lease, waiting };
  }
}
