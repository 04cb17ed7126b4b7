/**
 * The event loop stalls in a promise callback between the answer to a renewal and its end. The
 * answer extends the lease, so it is not lost.
 */
import { describe, expect, it } from 'vitest';
import type { Command } from '../../../src/engine/commands.js';
import { Holdfast, type Lease } from '../../../src/index.js';
import { settle, VirtualClock } from '../../support/virtual-clock.js';
import { WatchedStore } from '../../support/watched-store.js';

const TTL = 9000;
/** More promise callbacks than a renewal takes. */
const TICKS = 30;

/** A store after whose first renewal the event loop stalls, some promise callbacks later. */
class StallingStore extends WatchedStore {
  stalls: (() => void) | undefined;
  ticks = 0;

  override execute(batch: readonly Command[]): ReturnType<WatchedStore['execute']> {
    const replies = super.execute(batch);
    const renews = batch.some(({ op }) => op === 'renew' || op === 'renewMany');
    if (renews) void this.#stall();
    return replies;
  }

  async #stall(): Promise<void> {
    for (let tick = 0; tick < this.ticks; tick++) await Promise.resolve();
    this.stalls?.();
    this.stalls = undefined;
  }
}

/** The leases that are lost if the event loop stalls after some ticks beyond their first end. */
async function lost(ticks: number, renewal: (leases: Lease[], clock: VirtualClock) => unknown) {
  const clock = new VirtualClock();
  const store = new StallingStore(clock);
  const holdfast = new Holdfast(store, { clock, ttl: TTL });
  const mutexes = ['a', 'b'].map((key) => holdfast.mutex(key));
  const leases = await Promise.all(mutexes.map((mutex) => mutex.acquire()));
  let stalled = false;
  store.ticks = ticks;
  store.stalls = () => {
    clock.stall(TTL - 3000);
    // each read checks the clock
    for (const lease of leases) void lease.held;
    stalled = true;
  };
  await renewal(leases, clock);
  await settle();
  expect(stalled).toBe(true);
  const ended = leases.filter(({ signal }) => signal.aborted).length;
  await holdfast.close({ grace: 0 });
  return ended;
}

describe.each(Array.from({ length: TICKS }, (_, ticks) => ticks))('after %i callbacks', (ticks) => {
  it('a renewal by the holder', async () => {
    const extend = async (leases: Lease[], clock: VirtualClock): Promise<void> => {
      await clock.advance(4000);
      await Promise.all(leases.map((lease) => lease.extend(TTL)));
    };
    expect(await lost(ticks, extend)).toBe(0);
  });

  it('a renewal of several leases by the watchdog', async () => {
    const wait = (_: Lease[], clock: VirtualClock): Promise<void> => clock.advance(TTL * 0.62);
    expect(await lost(ticks, wait)).toBe(0);
  });
});

it('the test notices a lease that ends: a stall beyond the extended lease', async () => {
  const extend = async (leases: Lease[], clock: VirtualClock): Promise<void> => {
    await clock.advance(4000);
    const extended = leases.map((lease) => lease.extend(TTL));
    clock.stall(2 * TTL);
    await Promise.allSettled(extended);
  };
  expect(await lost(0, extend)).toBe(2);
});
