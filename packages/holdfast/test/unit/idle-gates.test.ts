/** How often processes ask that wait at a latch or a barrier. In virtual time. */
import { beforeEach, describe, expect, it } from 'vitest';
import { Holdfast } from '../../src/index.js';
import { GateWaiter } from '../../src/primitives/gates/gate-waiter.js';
import { MemoryStore } from '../../src/store/memory/memory-store.js';
import { failure, later } from '../suites/helpers.js';
import { VirtualClock } from '../support/virtual-clock.js';
import { WatchedStore } from '../support/watched-store.js';

const WINDOW = 1000;
const SETTINGS = { ttl: 60_000, claimWindow: WINDOW, requestTimeout: 500, unreachableAfter: 3000 };
const LATCH = { count: 1, ttl: 3_600_000 };
const CROWD = 256;
/** The longest period of a process in this crowd, in ms. */
const REST = (1.25 * CROWD * WINDOW) / 64;

/** A process that waits, with a network of its own. */
interface Waiter {
  readonly store: WatchedStore;
  readonly waits: Promise<unknown>;
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

/** Processes that all begin to wait at the same time, and have done so for a while. */
async function waiters(
  count: number,
  wait: (holdfast: Holdfast) => Promise<unknown>,
): Promise<Waiter[]> {
  const all: Waiter[] = [];
  for (let at = 0; at < count; at++) {
    const { store, holdfast } = await process();
    all.push({ store, waits: later(wait(holdfast)) });
  }
  await clock.advance(3 * REST);
  return all;
}

const atLatch = (holdfast: Holdfast): Promise<unknown> => holdfast.latch('k', LATCH).await();

const polls = (all: readonly Waiter[]): number =>
  all.reduce((sum, { store }) => sum + store.seen('watch').length, 0);

async function pollsIn(all: readonly Waiter[], windows: number): Promise<number> {
  const before = polls(all);
  await clock.advance(windows * WINDOW);
  return (polls(all) - before) / windows;
}

async function open(): Promise<void> {
  const { holdfast } = await process();
  await clock.until(holdfast.latch('k', LATCH).countDown());
}

describe('processes that wait at a latch', () => {
  it('poll once in a claim window if they are few', async () => {
    const all = await waiters(8, atLatch);
    expect(await pollsIn(all, 10)).toBeCloseTo(8, 0);
  });

  it('send about 64 polls in a claim window, whatever their number', async () => {
    const all = await waiters(CROWD, atLatch);
    const seen = await pollsIn(all, 20);
    expect(seen).toBeGreaterThan(48);
    expect(seen).toBeLessThan(80);
  });

  it('all pass when it opens', async () => {
    const all = await waiters(CROWD, atLatch);
    await open();
    await clock.until(Promise.all(all.map(({ waits }) => waits)));
  });

  it('notice a lost push at the end of their period', async () => {
    const all = await waiters(CROWD, atLatch);
    for (const { store } of all) store.deaf = true;
    await open();
    const from = clock.now();
    await clock.until(Promise.any(all.map(({ waits }) => waits)));
    expect(clock.now() - from).toBeLessThan(WINDOW);
    await clock.until(Promise.all(all.map(({ waits }) => waits)));
    expect(clock.now() - from).toBeLessThan(REST + WINDOW);
  });

  it('poll as often as before when most of them have left', async () => {
    const end = new AbortController();
    let count = 0;
    const all = await waiters(CROWD, (holdfast) => {
      count += 1;
      const leaves = count > 8 ? { signal: end.signal } : {};
      return holdfast.latch('k', LATCH).await(leaves);
    });
    end.abort();
    for (const { waits } of all.slice(8)) await failure(waits, 'HOLDFAST_ABORTED');
    const { holdfast } = await process();
    await clock.until(holdfast.latch('k', LATCH).reset());
    for (const { waits } of all.slice(0, 8)) await failure(waits, 'HOLDFAST_BROKEN');
    const few = await waiters(8, atLatch);
    expect(await pollsIn(few, 10)).toBeCloseTo(8, 0);
  });
});

describe('a wait that ends while its process rests', () => {
  const WAIT = 10 * WINDOW;
  const briefly = (holdfast: Holdfast): Promise<unknown> =>
    holdfast.latch('k', LATCH).await({ wait: 3 * REST + WAIT });

  it('asks the store before it ends', async () => {
    const all = await waiters(CROWD, briefly);
    await clock.advance(WAIT - WINDOW);
    const before = polls(all);
    await clock.advance(WINDOW);
    for (const { waits } of all) await failure(waits, 'HOLDFAST_TIMEOUT');
    expect(polls(all) - before).toBeGreaterThanOrEqual(CROWD);
  });

  it('passes if the push was lost', async () => {
    const all = await waiters(CROWD, briefly);
    await clock.advance(WAIT - WINDOW);
    for (const { store } of all) store.deaf = true;
    await open();
    await clock.until(Promise.all(all.map(({ waits }) => waits)));
  });

  it('rejects with UNREACHABLE if the store is away', async () => {
    const [last] = (await waiters(CROWD, briefly)).slice(-1) as [Waiter];
    last.store.fate = () => 'lost';
    await clock.advance(WAIT + 1000);
    await failure(last.waits, 'HOLDFAST_UNREACHABLE');
  });
});

describe('a short outage', () => {
  it('ends no wait of a process that rested', async () => {
    const all = await waiters(CROWD, atLatch);
    for (const { store } of all) store.fate = () => 'failed';
    await clock.advance(2 * WINDOW);
    for (const { store } of all) store.heal();
    await clock.advance(2 * REST);
    await open();
    await clock.until(Promise.all(all.map(({ waits }) => waits)));
  });
});

describe('the parties of a barrier', () => {
  const TTL = 3000;
  const atBarrier = (holdfast: Holdfast): Promise<unknown> =>
    holdfast.barrier('b', { parties: CROWD + 1, ttl: TTL }).await();

  it('keep their arrivals alive', async () => {
    const all = await waiters(CROWD, atBarrier);
    await clock.advance(3 * TTL);
    const { holdfast } = await process();
    await clock.until(atBarrier(holdfast));
    await clock.until(Promise.all(all.map(({ waits }) => waits)));
  });

  it('send about three polls in the life of an arrival', async () => {
    const all = await waiters(CROWD, atBarrier);
    expect(await pollsIn(all, 9)).toBeLessThan((3.6 * CROWD * WINDOW) / TTL);
  });
});

/** How many waiters the work visits in sets of them. */
async function visited(work: () => Promise<unknown>): Promise<number> {
  const usual = Set.prototype[Symbol.iterator];
  let count = 0;
  Set.prototype[Symbol.iterator] = function (this: Set<unknown>) {
    if (usual.call(this).next().value instanceof GateWaiter) count += this.size;
    return usual.call(this);
  };
  try {
    await work();
  } finally {
    Set.prototype[Symbol.iterator] = usual;
  }
  return count;
}

describe('many calls of one process at a latch', () => {
  const COUNT = 400;

  it('do not visit each other', async () => {
    const { holdfast } = await process();
    const calls: Promise<unknown>[] = [];
    const joining = async (): Promise<void> => {
      for (let at = 0; at < COUNT; at++) calls.push(atLatch(holdfast));
      await clock.advance(WINDOW / 2);
    };
    expect(await visited(joining)).toBeLessThan(10 * COUNT);
    // control: the end visits all
    expect(await visited(() => open())).toBeGreaterThanOrEqual(COUNT);
    await clock.until(Promise.all(calls));
  });

  it('poll in time for the one with the shortest ttl', async () => {
    const { store, holdfast } = await process();
    const long = { parties: 3, ttl: 60_000 };
    void later(holdfast.barrier('b', long).await());
    void later(holdfast.barrier('b', { ...long, ttl: 900 }).await());
    await clock.advance(100);
    const before = store.seen('watch').length;
    await clock.advance(900);
    expect(store.seen('watch').length - before).toBe(3);
  });
});
