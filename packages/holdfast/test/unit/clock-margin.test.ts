/** Leases on a store whose clock is ahead after a while, as that of a promoted replica. */
import { expect, it } from 'vitest';
import { Holdfast, type HoldfastOptions, type Lease } from '../../src/index.js';
import { MemoryStore } from '../../src/store/memory/memory-store.js';
import type { Clock } from '../../src/base/clock.js';
import { VirtualClock } from '../support/virtual-clock.js';

const AHEAD = 1500;

/** A clock that can be ahead of another one. */
class Ahead extends VirtualClock {
  ahead = 0;
  readonly base: Clock;

  constructor(base: Clock) {
    super();
    this.base = base;
  }

  override now(): number {
    return this.base.now() + this.ahead;
  }

  override wall(): number {
    return this.base.wall() + this.ahead;
  }
}

/** How many leases of a key are believed in at the same time, at most. */
async function holders(options: HoldfastOptions, how: Partial<HoldfastOptions>): Promise<number> {
  const clock = new VirtualClock();
  const server = new Ahead(clock);
  const store = new MemoryStore(server);
  const terms = { ttl: 4000, claimWindow: 500, ...how, ...options, clock };
  const [one, other] = [new Holdfast(store, terms), new Holdfast(store, terms)];
  const first = await clock.until(one.mutex('key').acquire());
  const waits = other.mutex('key').acquire();
  await clock.advance(100);
  server.ahead = AHEAD;
  const leases: Lease[] = [first];
  void waits.then((lease) => leases.push(lease));
  let most = 0;
  for (let step = 0; step < 180; step++) {
    await clock.advance(50);
    most = Math.max(most, leases.filter(({ held }) => held).length);
    if (step === 130 && first.held) await clock.until(first.release());
  }
  for (const lease of leases) await clock.until(lease.release());
  const closing = Promise.all([one.close({ grace: 0 }), other.close({ grace: 0 })]);
  await clock.until(closing);
  expect(leases).toHaveLength(2);
  return most;
}

it('a lease that is not renewed has two holders without a margin, and one with it', async () => {
  expect(await holders({}, { renew: false })).toBe(2);
  expect(await holders({ clockMargin: AHEAD + 200 }, { renew: false })).toBe(1);
});

it('a renewed lease has one holder with a margin', async () => {
  expect(await holders({ clockMargin: AHEAD + 200 }, {})).toBe(1);
});
