/** How the watchdog renews and ends leases, with a virtual clock. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Holdfast, type HoldfastOptions, type Lease } from '../../../src/index.js';
import { drift } from '../../../src/lease/local-time.js';
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

/** The end of the lease in the store. */
async function leftInStore(lease: Lease): Promise<number> {
  const [reply] = store.inner.execute([{ op: 'inspect', key: lease.key, limit: 1 }]);
  const shown = await reply;
  if (shown?.status !== 'inspected') throw new Error('not inspected');
  return (shown.holders[0]?.left ?? 0) / 1000;
}

describe('renewal', () => {
  it('starts after half of the lease, later by up to a tenth of it', async () => {
    const whole = 9000 - drift(9000);
    const times: number[] = [];
    for (let sample = 0; sample < 20; sample++) {
      store = new WatchedStore(clock);
      await open().mutex(`k${sample}`).acquire();
      const start = clock.now();
      while (store.seen('renew').length === 0) await clock.advance(25);
      times.push(clock.now() - start);
    }
    expect(Math.min(...times)).toBeGreaterThanOrEqual(whole * 0.5);
    expect(Math.max(...times)).toBeLessThanOrEqual(whole * 0.6 + 25);
    expect(new Set(times).size).toBeGreaterThan(5);
  });

  it('continues while the lease is held, and stops at the release (I8)', async () => {
    const lease = await holdfast.mutex('k').acquire();
    await clock.advance(60_000);
    expect(lease.held).toBe(true);
    expect(store.seen('renew').length).toBeGreaterThanOrEqual(11);
    expect(store.seen('renew').length).toBeLessThanOrEqual(14);
    expect(await lease.release()).toBe('freed');
    const renewals = store.seen('renew').length;
    await clock.advance(60_000);
    expect(store.seen('renew')).toHaveLength(renewals);
    expect(clock.timers()).toBe(0);
  });

  it('of a thousand leases takes two commands', async () => {
    const leases = await Promise.all(
      Array.from({ length: 1000 }, (_, n) => holdfast.mutex(`k${n}`).acquire()),
    );
    store.batches.length = 0;
    await clock.advance(6000);
    const renewed = store.seen('renew').map(({ key }) => key);
    expect(new Set(renewed).size).toBe(1000);
    expect(renewed).toHaveLength(1000);
    const sent = store.batches.flat().filter(({ op }) => op === 'renewMany');
    expect(sent.length).toBeLessThanOrEqual(3);
    expect(leases.every(({ held }) => held)).toBe(true);
  });

  it('of one failing lease does not delay the others', async () => {
    const [bad, good] = await Promise.all(
      ['bad', 'good'].map((key) => holdfast.mutex(key).acquire()),
    );
    store.fate = (command) => (command.key === 'bad' ? 'lost' : 'answered');
    await clock.advance(8999);
    expect([bad?.held, good?.held]).toEqual([false, true]);
  });

  it('does not run with renew: false', async () => {
    const lease = await holdfast.mutex('k').acquire({ renew: false });
    await clock.advance(9000 - drift(9000) - 1);
    expect([lease.held, store.seen('renew').length]).toEqual([true, 0]);
    await clock.advance(1);
    expect([lease.held, lease.signal.aborted]).toEqual([false, true]);
  });

  it('of other leases continues beside a fixed lease that was extended', async () => {
    const fixed = await holdfast.mutex('fixed').acquire({ renew: false, ttl: 1000 });
    const other = await holdfast.mutex('other').acquire({ ttl: 3000 });
    await clock.advance(500);
    await fixed.extend(20_000);
    await clock.advance(10_000);
    expect([fixed.held, other.held]).toEqual([true, true]);
  });

  it('of an extended fixed lease sets only one timer', async () => {
    const fixed = await holdfast.mutex('fixed').acquire({ renew: false, ttl: 1000 });
    await fixed.extend(20_000);
    const after = vi.spyOn(clock, 'after');
    await clock.advance(5000);
    expect(after.mock.calls.length).toBeLessThan(10);
  });
});

describe('the deadline of a lease (I7)', () => {
  it('counts from before the request was sent', async () => {
    store.ail('acquire', 500);
    const acquired = holdfast.mutex('k').acquire();
    await clock.advance(500);
    const lease = await acquired;
    expect(lease.remaining).toBe(9000 - 500 - drift(9000));
  });

  it('counts from before the request, also after a slow renewal', async () => {
    const lease = await holdfast.mutex('k').acquire();
    store.ail('renew', 400);
    while (store.seen('renew').length === 0) await clock.advance(1);
    await clock.advance(400);
    expect(lease.remaining).toBeLessThanOrEqual(9000 - 400 - drift(9000));
    expect(lease.remaining).toBeGreaterThan(9000 - 402 - drift(9000));
    expect(lease.remaining).toBeLessThan(await leftInStore(lease));
  });

  it("is unchanged without a reply, and is before the store's", async () => {
    const lease = await holdfast.mutex('k').acquire();
    const { signal } = lease;
    store.ail('renew', 'lost');
    const expected = 9000 - drift(9000);
    await clock.advance(expected - 1);
    expect([lease.held, signal.aborted]).toEqual([true, false]);
    expect(lease.remaining).toBeCloseTo(1);
    await clock.advance(1);
    expect([lease.held, signal.aborted]).toEqual([false, true]);
    expect(signal.reason).toMatchObject({ code: 'HOLDFAST_LOST', key: 'k' });
    expect(store.seen('renew').length).toBeGreaterThan(1);
    expect(await leftInStore(lease)).toBeGreaterThan(0);
  });

  it('is unchanged by renewals without a reply', async () => {
    const lease = await holdfast.mutex('k').acquire();
    store.ail('renew', 'answer lost');
    await clock.advance(9000 - drift(9000));
    expect(lease.held).toBe(false);
    expect(await leftInStore(lease)).toBeGreaterThan(0);
  });

  it('is extended when the store answers again in time', async () => {
    const lease = await holdfast.mutex('k').acquire();
    store.ail('renew', 'failed');
    await clock.advance(6000);
    expect(lease.held).toBe(true);
    store.heal();
    await clock.advance(6000);
    expect(lease.held).toBe(true);
  });

  it('passes as soon as the store no longer knows the lease', async () => {
    const lease = await holdfast.mutex('k').acquire();
    const { signal } = lease;
    await Promise.all(
      store.inner.execute([{ op: 'forceRelease', key: 'k', id: '', retention: 1000 }]),
    );
    await clock.advance(6000);
    expect(signal.reason).toMatchObject({ message: expect.stringContaining('does not know it') });
    expect(lease.held).toBe(false);
    expect(await lease.release()).toBe('lost');
  });

  it('is at maxHold at the latest, in the store too', async () => {
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

  it('passes during a stall, before any timer has run', async () => {
    const lease = await holdfast.mutex('k').acquire();
    clock.stall(9000);
    expect([lease.held, lease.remaining, lease.signal.aborted]).toEqual([false, 0, true]);
    expect(() => lease.assertHeld()).toThrow(/was lost/);
  });

  it('is in doubt after the machine was suspended, until the store answers', async () => {
    const lease = await holdfast.mutex('k').acquire();
    await clock.advance(100);
    clock.sleep(60_000);
    store.ail('poll', 300);
    expect([lease.held, lease.remaining, lease.signal.aborted]).toEqual([false, 0, false]);
    await clock.advance(299);
    expect(lease.held).toBe(false);
    await clock.advance(1);
    expect(lease.held).toBe(true);
  });

  it('has passed if the lease ended while the machine was suspended', async () => {
    const lease = await holdfast.mutex('k').acquire();
    await Promise.all(
      store.inner.execute([{ op: 'forceRelease', key: 'k', id: '', retention: 1000 }]),
    );
    clock.sleep(60_000);
    expect(lease.held).toBe(false);
    await clock.advance(0);
    expect(lease.signal.aborted).toBe(true);
  });

  it('is verified after the machine was suspended, also if the lease is not used', async () => {
    const lease = await holdfast.mutex('k').acquire();
    const { signal } = lease;
    await Promise.all(
      store.inner.execute([{ op: 'forceRelease', key: 'k', id: '', retention: 1000 }]),
    );
    clock.sleep(60_000);
    await clock.advance(6000);
    expect(signal.aborted).toBe(true);
  });

  it('is not in doubt if the wall clock is set back, or slightly forward', async () => {
    const lease = await holdfast.mutex('k').acquire();
    clock.sleep(-3_600_000);
    expect(lease.held).toBe(true);
    clock.sleep(500);
    expect(lease.held).toBe(true);
  });
});

describe('the warning', () => {
  it('is sent once, before the end, with the remaining time', async () => {
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

  it('is not sent while the lease is renewed in time', async () => {
    const onExpiring = vi.fn();
    await holdfast.mutex('k').acquire({ onExpiring });
    await clock.advance(60_000);
    expect(onExpiring).not.toHaveBeenCalled();
  });

  it('is sent again for another end', async () => {
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

  it('is sent for fixed leases too', async () => {
    const onExpiring = vi.fn();
    await holdfast.mutex('k').acquire({ renew: false, onExpiring, expiringBefore: 100 });
    await clock.advance(9000);
    expect(onExpiring).toHaveBeenCalledTimes(1);
  });
});
