/** How often idle waiters ask, and what ends their pauses. In virtual time. */
import { beforeEach, describe, expect, it } from 'vitest';
import { Holdfast, type Lease } from '../../src/index.js';
import type { EchoAnswer, WakeChannel } from '../../src/store/port.js';
import { MemoryStore } from '../../src/store/memory/memory-store.js';
import { failure, later } from '../suites/helpers.js';
import { VirtualClock } from '../support/virtual-clock.js';
import { WatchedStore } from '../support/watched-store.js';
import { World } from '../support/world.js';

const SETTINGS = { ttl: 60_000, claimWindow: 1000, requestTimeout: 500 };
/** The longest pause, in ms, and the time to reach it. */
const PAUSE = 16_000;

/** A process that waits, with a network of its own. */
interface Waiter {
  readonly store: WatchedStore;
  readonly holdfast: Holdfast;
  readonly waits: Promise<Lease>;
}

let clock: VirtualClock;
let memory: MemoryStore;
let holder: Holdfast;
let lease: Lease;

beforeEach(async () => {
  clock = new VirtualClock();
  memory = new MemoryStore(clock);
  holder = new Holdfast(new WatchedStore(clock, memory), { ...SETTINGS, clock });
  lease = await clock.until(holder.mutex('k').acquire({ ttl: 3_600_000 }));
});

/** Processes that wait one behind the other. */
async function waiters(count: number, wait = 3_600_000): Promise<Waiter[]> {
  const all: Waiter[] = [];
  for (let at = 0; at < count; at++) {
    const store = new WatchedStore(clock, memory);
    const holdfast = new Holdfast(store, { ...SETTINGS, clock });
    await clock.until(holdfast.warmUp());
    all.push({ store, holdfast, waits: later(holdfast.mutex('k').acquire({ wait })) });
    await clock.advance(7);
  }
  return all;
}

const polls = (all: readonly Waiter[]): number =>
  all.reduce((sum, { store }) => sum + store.seen('poll').length, 0);

async function pollsIn(all: readonly Waiter[], ms: number): Promise<number> {
  const before = polls(all);
  await clock.advance(ms);
  return polls(all) - before;
}

describe('idle waiters', () => {
  it('poll in each claim window near the head, and less often behind it', async () => {
    const all = await waiters(40);
    await clock.advance(2 * PAUSE);
    const window = 60;
    expect(await pollsIn(all.slice(0, 8), window * 1000)).toBeGreaterThan(7.5 * window);
    expect(await pollsIn(all.slice(32), window * 1000)).toBeLessThan((8.5 * window) / 5);
  });

  it('send at most about 19 polls and one for each 16 waiters in a claim window', async () => {
    const count = 240;
    const all = await waiters(count);
    await clock.advance(2 * PAUSE);
    expect(await pollsIn(all, 64_000)).toBeLessThan(64 * (21 + count / 16));
  });

  it('of an election send no more polls than those of a mutex', async () => {
    const leader = await clock.until(holder.election('e').campaign());
    const stores = Array.from({ length: 120 }, () => new WatchedStore(clock, memory));
    for (const store of stores) {
      const holdfast = new Holdfast(store, { ...SETTINGS, clock });
      await clock.until(holdfast.warmUp());
      void later(holdfast.election('e').campaign());
    }
    const sent = (): number => stores.reduce((sum, store) => sum + store.seen('poll').length, 0);
    await clock.advance(2 * PAUSE);
    const before = sent();
    await clock.advance(64_000);
    expect(sent() - before).toBeGreaterThan(64 * 8);
    expect(sent() - before).toBeLessThan(64 * (21 + stores.length / 16));
    expect(leader.signal.aborted).toBe(false);
  });

  it('pause for longest after the first poll, if that finds them far from the head', async () => {
    const all = await waiters(70);
    const [near] = all.slice(63, 64) as [Waiter];
    const [far] = all.slice(69) as [Waiter];
    await clock.advance(2000);
    const [first, second] = [polls([near]), polls([far])];
    await clock.advance(13_500);
    expect(polls([near]) - first).toBe(1);
    expect(polls([far]) - second).toBe(0);
    // the pause after the next look is that of its place: nine periods
    await clock.advance(64_000 + PAUSE);
    expect(await pollsIn([far], 36_000)).toBe(4);
  });

  it('ask more often when those in front have left, at the latest after 64 periods', async () => {
    const all = await waiters(130);
    await clock.advance(2 * PAUSE);
    const last = all.slice(-1);
    for (const { holdfast } of all.slice(0, 120)) await clock.until(holdfast.close());
    // so nothing is granted, and all those in front have left
    await clock.advance(64_000 + PAUSE);
    expect(await pollsIn(last, 20_000)).toBeGreaterThanOrEqual(9);
  });

  it('look at their places again after a grant', async () => {
    const all = await waiters(30);
    await clock.advance(2 * PAUSE);
    const [watched] = all.slice(16, 17) as [Waiter];
    let holding = lease;
    for (const { waits } of all.slice(0, 3)) {
      await clock.until(holding.release());
      holding = await clock.until(waits);
    }
    // two periods at place 13, and three at place 16
    await clock.advance(4000);
    expect(await pollsIn([watched], 20_000)).toBeGreaterThanOrEqual(9);
  });

  it('without pushes poll as often as near the head', async () => {
    const all = await waiters(9);
    const store = new WatchedStore(clock, memory);
    store.pushes = false;
    const holdfast = new Holdfast(store, { ...SETTINGS, clock });
    void later(holdfast.mutex('k').acquire());
    await clock.advance(10_000);
    expect(store.seen('poll').length).toBeGreaterThan(30);
    expect(all).toHaveLength(9);
  });

  it('get the lock by push in the order of arrival, also while they pause', async () => {
    const all = await waiters(40);
    await clock.advance(2 * PAUSE);
    let holding = lease;
    for (const { waits } of all) {
      await holding.release();
      holding = await clock.until(waits);
    }
    expect(holding.held).toBe(true);
  });

  it('are asked when a process that pauses gets the lock: a lost push costs a window', async () => {
    const all = await waiters(60);
    await clock.advance(2 * PAUSE);
    // those in front leave, so a process that pauses is the first
    for (const { holdfast } of all.slice(0, 40)) await clock.until(holdfast.close());
    const [first, second, third] = all.slice(40) as [Waiter, Waiter, Waiter];
    const before = polls([second]);
    await lease.release();
    const next = await clock.until(first.waits);
    await clock.advance(10);
    expect(polls([second])).toBe(before + 1);
    second.store.deaf = true;
    const from = clock.now();
    await next.release();
    await (await clock.until(second.waits)).release();
    expect(clock.now() - from).toBeLessThan(2 * SETTINGS.claimWindow);
    await clock.until(third.waits);
  });
});

describe('a process whose last answer is old', () => {
  /** Counts the messages of the process to itself. */
  class Examined extends WatchedStore {
    echoes = 0;

    override async listen(...args: Parameters<WatchedStore['listen']>): Promise<WakeChannel> {
      const channel = await super.listen(...args);
      const arrives = Promise.resolve(true as const);
      const echo = (): EchoAnswer => {
        this.echoes += 1;
        return { published: arrives, arrived: arrives };
      };
      return { name: channel.name, close: () => channel.close(), echo };
    }
  }

  it.each([
    ['does not look for a dead connection when a push came', false],
    ['looks for a dead connection when no push came', true],
  ])('%s', async (_, deaf) => {
    const store = new Examined(clock, memory);
    const holdfast = new Holdfast(store, { ...SETTINGS, clock });
    const waits = later(holdfast.mutex('k').acquire());
    await clock.advance(3000);
    const before = store.echoes;
    store.fate = () => 'failed';
    await clock.advance(2500);
    store.deaf = deaf;
    store.heal();
    await lease.release();
    await clock.until(waits);
    await clock.advance(3000);
    expect(store.echoes > before).toBe(deaf);
  });

  it('looks for a dead connection when the push of an earlier grant came', async () => {
    const store = new Examined(clock, memory);
    const holdfast = new Holdfast(store, { ...SETTINGS, clock });
    const waits = later(holdfast.mutex('k').acquire());
    await clock.advance(3000);
    store.fate = () => 'failed';
    await clock.advance(2500);
    // the push comes, the question fails, and the lease ends unclaimed: another process is next
    await lease.release();
    await clock.advance(1500);
    const next = await clock.until(holder.mutex('k').acquire());
    store.heal();
    await clock.advance(3000);
    const before = store.echoes;
    store.deaf = true;
    await next.release();
    await clock.until(waits);
    await clock.advance(3000);
    expect(store.echoes).toBeGreaterThan(before);
  });
});

describe('a call that waits while its process pauses', () => {
  it('asks the store before it ends at its wait limit', async () => {
    const all = await waiters(39);
    const [last] = await waiters(1, 3 * PAUSE);
    await clock.advance(3 * PAUSE - 2000);
    const before = polls([last as Waiter]);
    const ended = failure((last as Waiter).waits, 'HOLDFAST_TIMEOUT');
    await clock.advance(3000);
    await ended;
    expect(polls([last as Waiter])).toBeGreaterThan(before);
    expect(all).toHaveLength(39);
  });

  it('rejects with UNREACHABLE if the store is away at its wait limit', async () => {
    await waiters(39);
    const [last] = (await waiters(1, 3 * PAUSE)) as [Waiter];
    await clock.advance(3 * PAUSE - 2000);
    last.store.fate = () => 'lost';
    const ended = failure(last.waits, 'HOLDFAST_UNREACHABLE');
    await clock.advance(3000);
    await ended;
  });

  it('outlives a short outage that begins in the pause', async () => {
    await waiters(79);
    const [last] = (await waiters(1)) as [Waiter];
    // its second pause, as long as the first one, has begun
    await clock.advance(2.5 * PAUSE);
    last.store.fate = () => 'failed';
    await clock.advance(PAUSE);
    last.store.heal();
    await clock.advance(PAUSE);
    const inspected = await holder.inspect('k');
    expect(inspected?.waiterCount).toBe(80);
  });
});

describe('frozen processes in front of the queue', () => {
  const period = 1000;
  const patience = 6000;
  const poll = (world: World, id: string): unknown =>
    world.apply({
      ...{ op: 'poll', key: 'k', ids: [id], patience, period, retention: 60_000 },
    });

  /** A hundred processes that polled a moment ago, and one behind them that is not frozen. */
  function crowd(): World {
    const world = new World();
    world.grant('h.x', { ttl: 60_000 });
    for (let at = 0; at < 100; at++) world.ask(`p${at}.x`, { patience, maxQueue: 1000 });
    world.ask('alive.x', { patience, maxQueue: 1000 });
    for (let at = 0; at < 100; at++) poll(world, `p${at}.x`);
    world.release('h.x');
    return world;
  }

  /** The ms until the process that is not frozen gets the lock. It polls when it is asked. */
  function delay(world: World): number {
    const from = world.now;
    for (let ms = 0; ms < 120_000; ms += 50) {
      world.now = from + ms * 1000;
      const isAsked = world.pushed().includes('ask alive.x');
      // a process near the head polls in each window; here it stands for all of them
      if (isAsked || ms % 1000 === 0) poll(world, 'alive.x');
      if (world.show(1).holders[0]?.id === 'alive.x') return ms;
    }
    return Infinity;
  }

  it('cost no more than the silence of one process', () => {
    expect(delay(crowd())).toBeLessThanOrEqual(patience);
  });
});
