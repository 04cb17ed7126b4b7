/** More waiters of one process and key than one command polls, and their cost. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { Command } from '../../src/engine/commands.js';
import { Holdfast, type Lease } from '../../src/index.js';
import { later } from '../suites/helpers.js';
import { settle, VirtualClock } from '../support/virtual-clock.js';
import { WatchedStore } from '../support/watched-store.js';

const options = { ttl: 3000, claimWindow: 1000, retention: 5000, localHandOffs: 1000 };
let clock: VirtualClock;
let store: WatchedStore;
let one: Holdfast;
let other: Holdfast;

beforeEach(() => {
  clock = new VirtualClock();
  store = new WatchedStore(clock);
  one = new Holdfast(store, { ...options, clock });
  other = new Holdfast(store.inner, { ...options, clock });
});

/** Starts several condition waiters in one process; counts those that returned. */
async function park(count: number): Promise<{ back: number }> {
  const result = { back: 0 };
  const mutex = one.mutex('k');
  for (let n = 0; n < count; n++) {
    const lease = await mutex.acquire();
    const parked = mutex.condition('c').await(lease);
    void later(parked.then(() => lease.release())).then(() => {
      result.back += 1;
    });
    await settle();
  }
  return result;
}

const CASES = [
  [1001, true],
  [2500, true],
  [1001, false],
  [2500, false],
] as const;

describe.each(CASES)(
  '%i acquisitions of one process, with pushes: %s',
  { timeout: 30_000 },
  (count, pushes) => {
    it('are all kept while parked, and a signal wakes them', async () => {
      store.pushes = pushes;
      const result = await park(count);
      await clock.advance(4 * options.retention);
      const mutex = other.mutex('k');
      const woken = mutex.run((lease) => mutex.condition('c').signalAll(lease));
      await clock.advance(100);
      expect(await woken).toBe(count);
      await clock.advance(10_000);
      // Without pushes, the next poll finds a grant. Polls are a quarter of a claim window apart.
      if (!pushes) return expect(result.back).toBeGreaterThanOrEqual(39);
      expect(result.back).toBe(count);
      expect(await other.inspect('k')).toBeNull();
    });

    it('do not hide a waiter behind them while parked', async () => {
      store.pushes = pushes;
      await park(count);
      const holding = other.mutex('k').acquire();
      await clock.advance(10);
      let lease: Lease | undefined;
      void one
        .mutex('k')
        .acquire()
        .then((granted) => {
          lease = granted;
        });
      await clock.advance(500);
      await (await holding).release();
      await clock.advance(1000);
      expect(lease?.held).toBe(true);
    });

    it('are all served while queued, without any push', async () => {
      store.pushes = pushes;
      const holding = other.semaphore('s', { permits: count }).acquire(count);
      await clock.advance(10);
      let served = 0;
      for (let n = 0; n < count; n++) {
        const waiting = one.semaphore('s', { permits: count }).acquire();
        void waiting.then(() => {
          served += 1;
        });
      }
      await clock.advance(500);
      store.deaf = true;
      await (await holding).release();
      await clock.advance(1100);
      expect(served).toBe(count);
    });
  },
);

describe('the cost of waiting', () => {
  it.each([
    [500, {}, 1],
    [500, { owner: 'o' }, 1],
    [2500, {}, 1],
    [2500, { owner: 'o' }, 3],
  ])('%i waiters, %o: %i commands in a claim window', async (count, terms, commands) => {
    const holding = other.mutex('k').acquire();
    await clock.advance(10);
    for (let n = 0; n < count; n++) {
      const owner = 'owner' in terms ? { sharedBy: `${terms.owner}${n}` } : {};
      void later(one.mutex('k').acquire(owner));
    }
    await clock.advance(2000);
    const before = store.batches.flat().length;
    await clock.advance(10_000);
    const sent = store.batches.flat().length - before;
    expect(sent).toBeGreaterThanOrEqual(9 * commands);
    expect(sent).toBeLessThanOrEqual(11 * commands);
    expect((await holding).held).toBe(true);
    await settle();
  });

  it('a poll lets a queued id join a lease that its owner got meanwhile', async () => {
    const holding = other.mutex('k').acquire();
    await clock.advance(10);
    const granted: string[] = [];
    const ask = (name: string, owner: string): void => {
      void one
        .mutex('k')
        .acquire({ sharedBy: owner })
        .then(() => granted.push(name));
    };
    ask('first', 'o');
    ask('between', 'p');
    ask('second', 'o');
    await clock.advance(100);
    await (await holding).release();
    await clock.advance(10);
    expect(granted).toEqual(['first']);
    const asked = store.seen('acquire').length;
    await clock.advance(1000);
    expect(granted).toEqual(['first', 'second']);
    expect(store.seen('acquire')).toHaveLength(asked);
  });
});

it('130,000 waiters of one process are polled', { timeout: 60_000 }, async () => {
  const now = 1e15;
  // the answers of a store that grants nothing
  const answers = {
    acquire: { status: 'queued', now, ticket: 1, next: 1e9 },
    poll: { status: 'polled', now, next: 1e9, standings: [], pause: 0 },
  } as const;
  const full = Object.assign(new WatchedStore(clock), {
    execute: (batch: readonly Command[]) => {
      for (const { op } of batch) asked.push(op);
      return batch.map(async ({ op }) => answers[op as keyof typeof answers] as never);
    },
    post: undefined,
  });
  const asked: string[] = [];
  const limits = { maxQueue: 1_000_000, maxRequests: 1_000_000 };
  const crowd = new Holdfast(full, { ...options, ...limits, clock });
  const pool = crowd.semaphore('pool', { permits: 1 });
  for (let count = 0; count < 130_000; count++) void pool.acquire().catch(() => undefined);
  await clock.advance(1500);
  expect(asked.filter((op) => op === 'poll').length).toBeGreaterThan(130);
});
