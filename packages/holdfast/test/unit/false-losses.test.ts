/** What is not lost is not called lost, and a failed constructor uses nothing. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Holdfast, type LostLease } from '../../src/index.js';
import { failure } from '../suites/helpers.js';
import { VirtualClock } from '../support/virtual-clock.js';
import { WatchedStore } from '../support/watched-store.js';

let clock: VirtualClock;
let store: WatchedStore;
const losses: LostLease[] = [];

beforeEach(() => {
  clock = new VirtualClock();
  store = new WatchedStore(clock);
  losses.length = 0;
});
afterEach(() => {
  store.heal();
});

const open = (): Holdfast => new Holdfast(store, { clock, onLost: (lost) => losses.push(lost) });

describe('the end of a lock by its owner', () => {
  it('is no loss', async () => {
    const holdfast = open();
    expect(await holdfast.ownerLocks.lock('k', 'me', 9000, { renew: true })).toBeGreaterThan(0);
    expect(await holdfast.ownerLocks.unlock('k', 'me')).toBe(true);
    expect(losses).toEqual([]);
    expect(holdfast.stats().losses).toBe(0);
  });

  it('is one for a task that has a lease of that owner', async () => {
    const holdfast = open();
    const lease = await holdfast.mutex('k').acquire({ sharedBy: 'me' });
    expect(await holdfast.ownerLocks.unlock('k', 'me')).toBe(true);
    expect(lease.signal.aborted).toBe(true);
    expect(losses).toHaveLength(1);
  });
});

describe('a condition', () => {
  it.each(['signal', 'signalAll', 'await'] as const)(
    '%s refuses a lease of another kind, which is kept',
    async (call) => {
      const holdfast = open();
      const lease = await holdfast.rwLock('k').write.acquire();
      const condition = holdfast.mutex('k').condition('c');
      const error = await failure(condition[call](lease), 'HOLDFAST_BAD_OPTION');
      expect(error.option).toBe('lease');
      expect(lease.held).toBe(true);
      await lease.release();
    },
  );
});

it('a constructor that throws has not begun to use the store', () => {
  const use = vi.fn();
  const used = Object.assign(store, { use });
  const bad = { closeOnSignals: 'SIGTERM' } as object;
  expect(() => new Holdfast(used, bad)).toThrow(/closeOnSignals/);
  expect(use).not.toHaveBeenCalled();
  void new Holdfast(used);
  expect(use).toHaveBeenCalledTimes(1);
});
