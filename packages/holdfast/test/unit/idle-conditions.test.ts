/** How often processes ask that wait at a condition. In virtual time. */
import { beforeEach, describe, expect, it } from 'vitest';
import { Holdfast, type Lease } from '../../src/index.js';
import { parkedPause } from '../../src/engine/idle.js';
import { MemoryStore } from '../../src/store/memory/memory-store.js';
import { later } from '../suites/helpers.js';
import { VirtualClock } from '../support/virtual-clock.js';
import { WatchedStore } from '../support/watched-store.js';

const WINDOW = 1000;
const SETTINGS = { ttl: 60_000, claimWindow: WINDOW, requestTimeout: 500 };
const CROWD = 256;
/** The pause of a process in this crowd, in ms. */
const PAUSE = (CROWD * WINDOW) / 64;

interface Waiter {
  readonly store: WatchedStore;
  readonly waits: Promise<Lease>;
}

let clock: VirtualClock;
let memory: MemoryStore;

beforeEach(() => {
  clock = new VirtualClock();
  memory = new MemoryStore(clock);
});

async function process(): Promise<{ store: WatchedStore; holdfast: Holdfast }> {
  const store = new WatchedStore(clock, memory);
  const holdfast = new Holdfast(store, { ...SETTINGS, clock });
  await clock.until(holdfast.warmUp());
  return { store, holdfast };
}

/** Processes of which each waits at the condition. */
async function waiters(count: number): Promise<Waiter[]> {
  const all: Waiter[] = [];
  for (let at = 0; at < count; at++) {
    const { store, holdfast } = await process();
    const mutex = holdfast.mutex('k');
    const lease = await clock.until(mutex.acquire());
    const woken = async (): Promise<Lease> => {
      await mutex.condition('c').await(lease);
      return lease;
    };
    all.push({ store, waits: later(woken()) });
    await clock.advance(1);
  }
  await clock.advance(3 * PAUSE);
  return all;
}

async function pollsIn(all: readonly Waiter[], windows: number): Promise<number> {
  const seen = (): number => all.reduce((sum, { store }) => sum + store.seen('poll').length, 0);
  const before = seen();
  await clock.advance(windows * WINDOW);
  return (seen() - before) / windows;
}

async function signal(all: boolean): Promise<void> {
  const { holdfast } = await process();
  const mutex = holdfast.mutex('k');
  const lease = await clock.until(mutex.acquire());
  const condition = mutex.condition('c');
  await clock.until(all ? condition.signalAll(lease) : condition.signal(lease));
  await clock.until(lease.release());
}

describe('processes that wait at a condition', () => {
  it('poll once in a claim window if they are few', async () => {
    const all = await waiters(8);
    expect(await pollsIn(all, 10)).toBeCloseTo(8, 0);
  });

  it('send about 64 polls in a claim window, whatever their number', async () => {
    const all = await waiters(CROWD);
    const seen = await pollsIn(all, 20);
    expect(seen).toBeGreaterThan(48);
    expect(seen).toBeLessThan(90);
  });

  it('do not poll together, although they began to wait together', async () => {
    const all = await waiters(CROWD);
    await clock.advance(16 * PAUSE);
    for (let window = 0; window < 8; window++) expect(await pollsIn(all, 1)).toBeLessThan(128);
  });

  it('are all woken by a signal to all', async () => {
    const all = await waiters(CROWD);
    await signal(true);
    for (const { waits } of all) await clock.until((await clock.until(waits)).release());
  });

  it('pass a signal on whose push was lost, within two claim windows', async () => {
    const [first, second] = (await waiters(CROWD)) as [Waiter, Waiter];
    first.store.deaf = true;
    const from = clock.now();
    await signal(false);
    await clock.until(Promise.race([first.waits, second.waits]));
    expect(clock.now() - from).toBeLessThan(2 * WINDOW);
  });
});

describe('the pause of a process', () => {
  it('follows its share of the waiters, so that all send 64 polls in a period', () => {
    const shares = [400, 300, 200, 60, 30, 10];
    const parked = shares.reduce((sum, own) => sum + own, 0);
    const polls = shares.map((own) => 1 / Math.max(1, parkedPause(parked, own, 1, 1e6)));
    expect(polls.reduce((sum, one) => sum + one, 0)).toBeLessThan(64 + shares.length);
    expect(polls.slice(0, 5)).toEqual([1, 1, 1, 1, 1]);
  });

  it('is at most 20 periods, and three eighths of the retention', () => {
    expect(parkedPause(1e6, 1, 1000, 3_600_000)).toBe(20_000);
    expect(parkedPause(1e6, 1, 1000, 20_000)).toBe(7000);
    expect(parkedPause(1e6, 1, 1000, 2500)).toBe(0);
  });
});
