/** `onExpiring` is called only when a lease is in danger, and once for each expiry. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Holdfast, type HoldfastOptions, type Lease, type LockOptions } from '../../src/index.js';
import { drift } from '../../src/lease/local-time.js';
import { VirtualClock } from '../support/virtual-clock.js';
import { WatchedStore } from '../support/watched-store.js';

let clock: VirtualClock;
let store: WatchedStore;
const onExpiring = vi.fn();

beforeEach(() => {
  clock = new VirtualClock();
  store = new WatchedStore(clock);
  onExpiring.mockReset();
});
afterEach(() => {
  vi.restoreAllMocks();
});

const open = (options: HoldfastOptions = {}): Holdfast =>
  new Holdfast(store, { clock, ttl: 9000, ...options });

/** A lease that was granted by a push after waiting. */
async function pushed(options: LockOptions = {}): Promise<Lease> {
  const holder = await open().mutex('k').acquire();
  const waiting = open()
    .mutex('k')
    .acquire({ onExpiring, ...options });
  await clock.advance(100);
  await holder.release();
  return waiting;
}

it('is not called for a lease that was just granted by a push', async () => {
  const lease = await pushed();
  await clock.advance(60_000);
  expect([lease.held, onExpiring.mock.calls]).toEqual([true, []]);
});

it('is called for a pushed lease that could not be renewed', async () => {
  store.ail('renew', 'failed');
  const lease = await pushed();
  const { signal } = lease;
  await clock.advance(2000);
  expect([onExpiring.mock.calls.length, signal.aborted]).toEqual([1, true]);
  expect(onExpiring.mock.calls[0]?.[0]).toBeGreaterThan(0);
});

it('is not called repeatedly if `expiringBefore` covers nearly the whole lease', async () => {
  const mutex = open().mutex('k', { ttl: 300, expiringBefore: 290, onExpiring });
  const lease = await mutex.acquire();
  await clock.advance(5000);
  expect([lease.held, onExpiring.mock.calls]).toEqual([true, []]);
  store.ail('renew', 'lost');
  await clock.advance(1000);
  expect([lease.held, onExpiring.mock.calls.length]).toEqual([false, 1]);
});

it('is called once, as soon as a renewal has failed within that time', async () => {
  await open().mutex('k').acquire({ expiringBefore: 9000, onExpiring });
  store.ail('renew', 'failed');
  await clock.advance(4400);
  expect(onExpiring).not.toHaveBeenCalled();
  await clock.advance(1000);
  expect(onExpiring.mock.calls).toEqual([[expect.closeTo(4000, -3)]]);
  await clock.advance(2000);
  expect(onExpiring).toHaveBeenCalledTimes(1);
});

it('is called at its time before a lease without renewal ends, once for each expiry', async () => {
  const lease = await open().mutex('k').acquire({ renew: false, expiringBefore: 5000, onExpiring });
  await clock.advance(9000 - drift(9000) - 5001);
  expect(onExpiring).not.toHaveBeenCalled();
  await clock.advance(1);
  expect(onExpiring.mock.calls).toEqual([[expect.closeTo(5000)]]);
  // This extension changes nothing.
  await lease.extend(100);
  await clock.advance(1000);
  expect(onExpiring).toHaveBeenCalledTimes(1);
  await lease.extend(9000);
  await clock.advance(9000);
  expect(onExpiring).toHaveBeenCalledTimes(2);
});

it('is called once at its time before maxHold', async () => {
  const options = { ttl: 2000, maxHold: 5000, expiringBefore: 1500, onExpiring };
  await open().mutex('k').acquire(options);
  await clock.advance(3499);
  expect(onExpiring).not.toHaveBeenCalled();
  await clock.advance(1501);
  expect(onExpiring.mock.calls).toEqual([[expect.closeTo(1500)]]);
});

it('is not called after a stall if the renewal was answered meanwhile', async () => {
  const lease = await open().mutex('k').acquire({ onExpiring });
  store.ail('renew', 3000);
  await clock.advance(5400);
  expect(store.seen('renew')).toHaveLength(1);
  clock.stall(3200);
  await clock.advance(0);
  expect([lease.held, onExpiring.mock.calls]).toEqual([true, []]);
});

it.each([
  [
    'throws',
    () => {
      throw new Error('mine');
    },
  ],
  ['rejects', (): unknown => Promise.reject(new Error('mine'))],
] as const)('that %s becomes a warning', async (_, callback: () => unknown) => {
  const onWarning = vi.fn();
  const lease = await open({ onWarning })
    .mutex('k')
    .acquire({ renew: false, onExpiring: callback });
  await clock.advance(7000);
  expect(lease.held).toBe(true);
  await vi.waitFor(() => expect(onWarning).toHaveBeenCalledOnce(), 20_000);
  expect(onWarning.mock.calls).toMatchObject([[{ code: 'HOLDFAST_CALLBACK', key: 'k' }]]);
  expect(onWarning.mock.calls[0]?.[0].message).toContain('onExpiring of "k" failed: Error: mine');
});
