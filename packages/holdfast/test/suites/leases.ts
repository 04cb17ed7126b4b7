/** The behaviour of leases: renewal, limits, extension, warning, loss. On any backend. */
import { paced, stall } from 'holdfast-testkit';
import { describe, expect, it } from 'vitest';
import type { Backend } from '../support/backends.js';
import { aborted, failure, freshKey, later, renewedUntil, unused } from './helpers.js';
import { leaseCalls } from './leases-calls.js';
import { leaseHandover } from './leases-handover.js';
import { leaseHandOff } from './leases-hand-off.js';
import { leaseFences } from './leases-fences.js';
import { fixedLeases } from './leases-fixed.js';
import { stalls } from './leases-stalls.js';

export function leaseSuite(backend: Backend): void {
  describe('renewal', () => renewal(backend));
  describe('without renewal', () => fixedLeases(backend));
  describe('extension', () => extension(backend));
  describe('warning', () => warning(backend));
  describe('end', () => ending(backend));
  describe('calls', () => leaseCalls(backend));
  describe('as text', () => leaseHandover(backend));
  describe('a stall', () => stalls(backend));
  describe('fences', () => leaseFences(backend));
  describe('hand-off inside a process', () => leaseHandOff(backend));
}

function renewal(backend: Backend): void {
  it('keeps a lease for longer than its ttl', async () => {
    const ttl = paced(1200);
    const [one, other] = [await backend.make({ ttl }), await backend.make()];
    const key = freshKey();
    const lease = await one.mutex(key).acquire();
    await renewedUntil(other, key, 2.2 * ttl);
    expect(lease.held).toBe(true);
    expect(lease.signal.aborted).toBe(false);
    expect(await other.mutex(key).tryAcquire()).toBeNull();
    expect(await lease.release()).toBe('freed');
  });

  it('keeps many leases', async () => {
    const holdfast = await backend.make({ ttl: paced(2400) });
    // on a quorum, each renewal is a round of its own
    const count = backend.store === 'quorum' ? 40 : 120;
    const keys = Array.from({ length: count }, () => freshKey());
    const leases = await Promise.all(keys.map((key) => holdfast.mutex(key).acquire()));
    await renewedUntil(holdfast, keys[count - 1] as string, paced(3000));
    expect(leases.filter(({ held }) => held)).toHaveLength(count);
  });

  it('stops at the release: no renewal revives the lease', async () => {
    const ttl = paced(1200);
    const holdfast = await backend.make({ ttl });
    const key = freshKey();
    const lease = await holdfast.mutex(key).acquire();
    await renewedUntil(holdfast, key, 1.1 * ttl);
    const renewing = lease.extend(ttl).catch(() => undefined);
    await lease.release();
    await renewing;
    expect(await holdfast.inspect(key)).toBeNull();
    await failure(lease.extend(100), 'HOLDFAST_LOST');
    expect(await holdfast.inspect(key)).toBeNull();
  });

  it('with renew: false does not happen, and the signal aborts before the next grant', async () => {
    const [one, other] = [await backend.make(), await backend.make()];
    const [key, ttl] = [freshKey(), paced(150)];
    const lease = await one.mutex(key).acquire({ ttl, renew: false });
    let heldAtGrant: boolean | undefined;
    const next = other.mutex(key).acquire({ wait: 30_000 });
    const granted = next.then(() => {
      heldAtGrant = lease.held;
    });
    const reason = await aborted(lease.signal);
    expect(reason).toMatchObject({ code: 'HOLDFAST_LOST', key });
    expect(reason.message).toContain(`its ttl of ${ttl} ms has passed, and renew is false`);
    expect(lease.held).toBe(false);
    expect(lease.remaining).toBe(0);
    expect(() => lease.assertHeld()).toThrow(reason.message);
    await granted;
    expect(heldAtGrant).toBe(false);
    expect((await next).fence).toBeGreaterThan(lease.fence);
  });

  it('ends at maxHold', async () => {
    const [one, other] = [await backend.make({ ttl: paced(2400) }), await backend.make()];
    const key = freshKey();
    const start = performance.now();
    const lease = await one.mutex(key).acquire({ maxHold: paced(3000) });
    const next = later(other.mutex(key).acquire({ wait: 30_000 }));
    const reason = await aborted(lease.signal);
    expect(reason.message).toContain('maxHold');
    // longer than the ttl: without renewal the wait would have been shorter
    expect(performance.now() - start).toBeGreaterThan(paced(3000) - 100);
    expect((await next).held).toBe(true);
  });
}

function extension(backend: Backend): void {
  it('lasts at least as long as requested, and never shortens the lease', async () => {
    const holdfast = await backend.make();
    const key = freshKey();
    const lease = await holdfast.mutex(key).acquire({ ttl: 5000, renew: false });
    expect(await lease.extend(20_000)).toBeGreaterThanOrEqual(20_000);
    expect((await holdfast.inspect(key))?.holders[0]?.remaining).toBeGreaterThan(19_000);
    expect(await lease.extend(100)).toBeGreaterThan(18_000);
    expect(lease.held).toBe(true);
  });

  it('by ensure sends a request only if it is necessary', async () => {
    const holdfast = await backend.make();
    const key = freshKey();
    const lease = await holdfast.mutex(key).acquire({ ttl: 5000, renew: false });
    const before = (await holdfast.inspect(key))?.holders[0]?.remaining as number;
    expect(await lease.ensure(1000)).toBeGreaterThan(1000);
    // a quorum knows only bounds of its time
    const most = backend.store === 'quorum' ? before + 1000 : before;
    expect((await holdfast.inspect(key))?.holders[0]?.remaining).toBeLessThanOrEqual(most);
    expect(await lease.ensure(30_000)).toBeGreaterThanOrEqual(30_000);
    expect((await holdfast.inspect(key))?.holders[0]?.remaining).toBeGreaterThan(before);
  });

  it('beyond maxHold is refused', async () => {
    const holdfast = await backend.make();
    const lease = await holdfast.mutex(freshKey()).acquire({ ttl: 20_000, maxHold: 60_000 });
    const error = await failure(lease.extend(90_000), 'HOLDFAST_BAD_OPTION');
    expect(error.message).toContain('maxHold');
    await failure(lease.ensure(Number.NaN), 'HOLDFAST_BAD_OPTION');
    expect(lease.held).toBe(true);
  });

  it('of a lease that ended rejects with HOLDFAST_LOST', async () => {
    const holdfast = await backend.make();
    const lease = await holdfast.mutex(freshKey()).acquire({ ttl: paced(100), renew: false });
    await aborted(lease.signal);
    await failure(lease.extend(1000), 'HOLDFAST_LOST');
    await failure(lease.ensure(1000), 'HOLDFAST_LOST');
    expect(lease.held).toBe(false);
  });

  it('detects that the store has lost the lease', async () => {
    const [one, other] = [await backend.make(), await backend.make()];
    const key = freshKey();
    const lease = await one.mutex(key).acquire();
    expect((await other.forceRelease(key)).ended).toBe(1);
    await failure(lease.extend(20_000), 'HOLDFAST_LOST');
    expect(lease.held).toBe(false);
    expect(lease.signal.aborted).toBe(true);
  });
}

function warning(backend: Backend): void {
  it('happens once, before the lease ends', async () => {
    const holdfast = await backend.make();
    const warned: number[] = [];
    let heldThen = false;
    const lease = await holdfast.mutex(freshKey()).acquire({
      ...{ ttl: paced(800), renew: false, expiringBefore: paced(750) },
      onExpiring: (remaining) => {
        warned.push(remaining);
        heldThen = lease.held;
      },
    });
    await aborted(lease.signal);
    expect(warned).toHaveLength(1);
    expect(heldThen).toBe(true);
    expect(warned[0]).toBeGreaterThan(0);
    expect(warned[0]).toBeLessThanOrEqual(paced(750));
  });

  it('leaves time to extend, and then happens again', async () => {
    const holdfast = await backend.make();
    let times = 0;
    const lease = await holdfast.mutex(freshKey()).acquire({
      ...{ ttl: paced(600), renew: false, expiringBefore: paced(550) },
      onExpiring: () => {
        times += 1;
        if (times < 3) void lease.extend(paced(600));
      },
    });
    await aborted(lease.signal);
    expect(times).toBe(3);
  });

  it('does not happen for a lease that was released', async () => {
    const holdfast = await backend.make();
    let warned = false;
    const onExpiring = (): void => {
      warned = true;
    };
    const terms = { ttl: paced(100), renew: false };
    const lease = await holdfast.mutex(freshKey()).acquire({ ...terms, onExpiring });
    await lease.release();
    const other = await holdfast.mutex(freshKey()).acquire(terms);
    await aborted(other.signal);
    expect(warned).toBe(false);
  });
}

function ending(backend: Backend): void {
  it('by release does not abort the signal', async () => {
    const holdfast = await backend.make();
    const lease = await holdfast.mutex(freshKey()).acquire();
    await lease.release();
    expect(lease.signal.aborted).toBe(false);
    expect(lease.held).toBe(false);
    expect(() => lease.assertHeld()).toThrow('was released');
  });

  it('that was not yet noticed shows in `signal` as soon as it is read', async () => {
    const holdfast = await backend.make();
    const key = freshKey();
    const ttl = paced(50);
    const lease = await holdfast.mutex(key).acquire({ ttl, renew: false });
    // no timer can fire
    stall(ttl + 10);
    expect(lease.held).toBe(false);
    expect(lease.signal.aborted).toBe(true);
    await failure(lease.extend(1000), 'HOLDFAST_LOST');
    await unused(holdfast, key);
  });
}
