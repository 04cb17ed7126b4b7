/** What the keeper does with leases, on a clock that goes when it is told to. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Holdfast, type HoldfastOptions, type Lease } from '../../../src/index.js';
import { drift } from '../../../src/lease/lease-record.js';
import { VirtualClock } from '../../support/virtual-clock.js';
import { WatchedStore } from '../../support/watched-store.js';

let clock: VirtualClock;
let store: WatchedStore;
let holdfast: Holdfast;

function open(options: HoldfastOptions = {}): Holdfast {
  return new Holdfast(store, { clock, ttl: 9000, ...options });
}

beforeEach(() => {
  clock = new VirtualClock();
  store = new WatchedStore(clock);
  holdfast = open();
});
afterEach(() => {
  store.heal();
});

/** What the store itself says of the lease's end. */
async function leftInStore(lease: Lease): Promise<number> {
  const [reply] = store.inner.execute([{ op: 'inspect', key: lease.key, limit: 1 }]);
  const shown = await reply;
  if (shown?.status !== 'inspected') throw new Error('not inspected');
  return (shown.holders[0]?.left ?? 0) / 1000;
}

describe('renewal', () => {
  it('comes at about a third of the lease, earlier by up to a sixth of that', async () => {
    const third = (9000 - drift(9000)) / 3;
    const times: number[] = [];
    for (let sample = 0; sample < 40; sample++) {
      store = new WatchedStore(clock);
      await open().mutex(`k${sample}`).acquire();
      const start = clock.now();
      while (store.seen('renew').length === 0) await clock.advance(5);
      times.push(clock.now() - start);
    }
    expect(Math.min(...times)).toBeGreaterThanOrEqual((third * 5) / 6);
    expect(Math.max(...times)).toBeLessThanOrEqual(third + 5);
    expect(new Set(times).size).toBeGreaterThan(5);
  });

  it('goes on for as long as the lease is held, and ends with the release (I8)', async () => {
    const lease = await holdfast.mutex('k').acquire();
    await clock.advance(60_000);
    expect(lease.held).toBe(true);
    expect(store.seen('renew').length).toBeGreaterThanOrEqual(20);
    expect(store.seen('renew').length).toBeLessThanOrEqual(26);
    expect(await lease.release()).toBe('freed');
    const renewals = store.seen('renew').length;
    await clock.advance(60_000);
    expect(store.seen('renew')).toHaveLength(renewals);
    expect(clock.timers()).toBe(0);
  });

  it('of a thousand leases takes a few batches', async () => {
    const leases = await Promise.all(
      Array.from({ length: 1000 }, (_, n) => holdfast.mutex(`k${n}`).acquire()),
    );
    store.batches.length = 0;
    await clock.advance(4000);
    const renewed = store.seen('renew').map(({ key }) => key);
    expect(new Set(renewed).size).toBe(1000);
    expect(renewed).toHaveLength(1000);
    expect(store.batches.length).toBeLessThanOrEqual(10);
    expect(leases.every(({ held }) => held)).toBe(true);
  });

  it('of one lease that fails delays no other', async () => {
    const [bad, good] = await Promise.all(
      ['bad', 'good'].map((key) => holdfast.mutex(key).acquire()),
    );
    store.fate = (command) => (command.key === 'bad' ? 'lost' : 'answered');
    await clock.advance(8999);
    expect([bad?.held, good?.held]).toEqual([false, true]);
  });

  it('does not happen with renew: false', async () => {
    const lease = await holdfast.mutex('k').acquire({ renew: false });
    await clock.advance(9000 - drift(9000) - 1);
    expect([lease.held, store.seen('renew').length]).toEqual([true, 0]);
    await clock.advance(1);
    expect([lease.held, lease.signal.aborted]).toEqual([false, true]);
  });

  it('of others goes on beside a fixed lease that was extended', async () => {
    const fixed = await holdfast.mutex('fixed').acquire({ renew: false, ttl: 1000 });
    const other = await holdfast.mutex('other').acquire({ ttl: 3000 });
    await clock.advance(500);
    await fixed.extend(20_000);
    await clock.advance(10_000);
    expect([fixed.held, other.held]).toEqual([true, true]);
  });

  it('of a fixed lease that was extended costs no timer after another', async () => {
    const fixed = await holdfast.mutex('fixed').acquire({ renew: false, ttl: 1000 });
    await fixed.extend(20_000);
    const after = vi.spyOn(clock, 'after');
    await clock.advance(5000);
    expect(after.mock.calls.length).toBeLessThan(10);
  });
});

describe('what a lease is worth (I7)', () => {
  it('is counted from before the request was sent', async () => {
    store.ail('acquire', 500);
    const acquired = holdfast.mutex('k').acquire();
    await clock.advance(500);
    const lease = await acquired;
    expect(lease.remaining()).toBe(9000 - 500 - drift(9000));
  });

  it('also after a renewal whose answer was slow', async () => {
    const lease = await holdfast.mutex('k').acquire();
    store.ail('renew', 400);
    while (store.seen('renew').length === 0) await clock.advance(1);
    await clock.advance(400);
    expect(lease.remaining()).toBeLessThanOrEqual(9000 - 400 - drift(9000));
    expect(lease.remaining()).toBeGreaterThan(9000 - 402 - drift(9000));
    expect(lease.remaining()).toBeLessThan(await leftInStore(lease));
  });

  it("does not change by no answer: it ends when it would have, before the store's", async () => {
    const lease = await holdfast.mutex('k').acquire();
    const { signal } = lease;
    store.ail('renew', 'lost');
    const expected = 9000 - drift(9000);
    await clock.advance(expected - 1);
    expect([lease.held, signal.aborted]).toEqual([true, false]);
    expect(lease.remaining()).toBeCloseTo(1);
    await clock.advance(1);
    expect([lease.held, signal.aborted]).toEqual([false, true]);
    expect(signal.reason).toMatchObject({ code: 'HOLDFAST_LOST', key: 'k' });
    expect(store.seen('renew').length).toBeGreaterThan(1);
    expect(await leftInStore(lease)).toBeGreaterThan(0);
  });

  it('nor by renewals that happened unheard: it is not extended by them', async () => {
    const lease = await holdfast.mutex('k').acquire();
    store.ail('renew', 'answer lost');
    await clock.advance(9000 - drift(9000));
    expect(lease.held).toBe(false);
    expect(await leftInStore(lease)).toBeGreaterThan(0);
  });

  it('goes on when the store answers again in time', async () => {
    const lease = await holdfast.mutex('k').acquire();
    store.ail('renew', 'failed');
    await clock.advance(6000);
    expect(lease.held).toBe(true);
    store.heal();
    await clock.advance(6000);
    expect(lease.held).toBe(true);
  });

  it('is nothing as soon as the store does not know it any more', async () => {
    const lease = await holdfast.mutex('k').acquire();
    const { signal } = lease;
    await Promise.all(
      store.inner.execute([{ op: 'forceRelease', key: 'k', id: '', retention: 1000 }]),
    );
    await clock.advance(3000);
    expect(signal.reason).toMatchObject({ message: expect.stringContaining('does not know it') });
    expect(lease.held).toBe(false);
    expect(await lease.release()).toBe('lost');
  });

  it('ends at maxHold, in the store too', async () => {
    const lease = await holdfast.mutex('k').acquire({ ttl: 2000, maxHold: 5000 });
    const { signal } = lease;
    await clock.advance(4999);
    expect([lease.held, signal.aborted]).toEqual([true, false]);
    await clock.advance(1);
    expect([lease.held, signal.aborted]).toEqual([false, true]);
    expect(signal.reason).toMatchObject({ message: expect.stringContaining('maxHold') });
    await clock.advance(200);
    expect(await leftInStore(lease)).toBe(0);
  });

  it('is nothing after a stall, before any timer has run', async () => {
    const lease = await holdfast.mutex('k').acquire();
    clock.stall(9000);
    expect([lease.held, lease.remaining(), lease.signal.aborted]).toEqual([false, 0, true]);
    expect(() => lease.assertHeld()).toThrow(/was lost/);
  });

  it('is in doubt when the machine has slept, until the store has answered', async () => {
    const lease = await holdfast.mutex('k').acquire();
    await clock.advance(100);
    clock.sleep(60_000);
    store.ail('poll', 300);
    expect([lease.held, lease.remaining(), lease.signal.aborted]).toEqual([false, 0, false]);
    await clock.advance(299);
    expect(lease.held).toBe(false);
    await clock.advance(1);
    expect(lease.held).toBe(true);
  });

  it('is lost when it ended while the machine slept', async () => {
    const lease = await holdfast.mutex('k').acquire();
    await Promise.all(
      store.inner.execute([{ op: 'forceRelease', key: 'k', id: '', retention: 1000 }]),
    );
    clock.sleep(60_000);
    expect(lease.held).toBe(false);
    await clock.advance(0);
    expect(lease.signal.aborted).toBe(true);
  });

  it('is looked after though nobody asks for it after the sleep', async () => {
    const lease = await holdfast.mutex('k').acquire();
    const { signal } = lease;
    await Promise.all(
      store.inner.execute([{ op: 'forceRelease', key: 'k', id: '', retention: 1000 }]),
    );
    clock.sleep(60_000);
    await clock.advance(3000);
    expect(signal.aborted).toBe(true);
  });

  it('is not doubted for a wall clock that is set back, or a little forward', async () => {
    const lease = await holdfast.mutex('k').acquire();
    clock.sleep(-3_600_000);
    expect(lease.held).toBe(true);
    clock.sleep(500);
    expect(lease.held).toBe(true);
  });
});

describe('the warning', () => {
  it('comes once, before the end, with the time that is left', async () => {
    const onExpiring = vi.fn();
    const lease = await holdfast.mutex('k').acquire({ onExpiring, expiringBefore: 2000 });
    store.ail('renew', 'lost');
    await clock.advance(9000 - drift(9000) - 2001);
    expect(onExpiring).not.toHaveBeenCalled();
    await clock.advance(1500);
    expect(onExpiring.mock.calls).toEqual([[expect.closeTo(2000)]]);
    expect(lease.held).toBe(true);
    await clock.advance(9000);
    expect(onExpiring).toHaveBeenCalledTimes(1);
  });

  it('does not come while the lease is renewed in time', async () => {
    const onExpiring = vi.fn();
    await holdfast.mutex('k').acquire({ onExpiring });
    await clock.advance(60_000);
    expect(onExpiring).not.toHaveBeenCalled();
  });

  it('comes again for another end', async () => {
    const onExpiring = vi.fn();
    await holdfast.mutex('k').acquire({ onExpiring, expiringBefore: 3000 });
    store.ail('renew', 'failed');
    await clock.advance(6500);
    expect(onExpiring).toHaveBeenCalledTimes(1);
    store.heal();
    await clock.advance(1500);
    store.ail('renew', 'failed');
    await clock.advance(9000);
    expect(onExpiring).toHaveBeenCalledTimes(2);
  });

  it('comes for fixed leases too', async () => {
    const onExpiring = vi.fn();
    await holdfast.mutex('k').acquire({ renew: false, onExpiring, expiringBefore: 100 });
    await clock.advance(9000);
    expect(onExpiring).toHaveBeenCalledTimes(1);
  });
});
