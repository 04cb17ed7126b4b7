/** The order of the queue if the clock of a process is faster than that of the store. */
import { expect, it } from 'vitest';
import type { Clock, Timer } from '../../src/base/clock.js';
import { Holdfast } from '../../src/index.js';
import { MemoryStore } from '../../src/store/memory/memory-store.js';
import { VirtualClock } from '../support/virtual-clock.js';

/** Within what `docs/guarantees.md` allows. */
const RATE = 1.009;

class Fast implements Clock {
  readonly #clock: VirtualClock;

  constructor(clock: VirtualClock) {
    this.#clock = clock;
  }

  now(): number {
    return this.#clock.now() * RATE;
  }

  wall(): number {
    return this.#clock.wall();
  }

  after(ms: number, callback: () => void, weak?: boolean): Timer {
    return this.#clock.after(ms / RATE, callback, weak);
  }
}

it('a task that waits in its process does not overtake a fair waiter that came first', async () => {
  const clock = new VirtualClock();
  const store = new MemoryStore(clock);
  const settings = { ttl: 9000, claimWindow: 1000 };
  const fast = new Holdfast(store, { ...settings, clock: new Fast(clock) });
  const other = new Holdfast(store, { ...settings, clock });
  const order: string[] = [];
  const enter = (holdfast: Holdfast, name: string, fair: boolean): Promise<void> =>
    holdfast.mutex('k', { fair }).run(() => void order.push(name));
  const lease = await clock.until(fast.mutex('k').acquire());
  await clock.advance(100);
  const entered = [enter(other, 'fair', true)];
  await clock.advance(5);
  entered.push(enter(fast, 'later', false));
  await clock.advance(2000);
  await clock.until(lease.release());
  await clock.until(Promise.all(entered));
  expect(order).toEqual(['fair', 'later']);
  await clock.until(Promise.all([fast.close(), other.close()]));
});
