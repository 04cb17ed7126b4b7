/** Several locks acquired together, on any backend. */
import { describe, expect, it } from 'vitest';
import type { MultiLease } from '../../src/index.js';
import type { Backend } from '../support/backends.js';
import { allOfCancellation } from './all-of-cancellation.js';
import { allOfOrder } from './all-of-order.js';
import { failure, freshKey, freshKeys, later, queued, unused } from './helpers.js';

export function allOfSuite(backend: Backend): void {
  describe('taking', () => taking(backend));
  describe('asking', () => asking(backend));
  describe('trying', () => trying(backend));
  describe('releasing', () => releasing(backend));
  describe('working', () => working(backend));
  describe('cancellation', () => allOfCancellation(backend));
  describe('order', () => allOfOrder(backend));
}

function taking(backend: Backend): void {
  it('grants each lock once, with its own fence', async () => {
    const holdfast = await backend.make({ ttl: 5000 });
    const [a, b, c] = freshKeys(3) as [string, string, string];
    const lease = await holdfast.allOf([c, a, b, a]).acquire();
    expect(lease.keys).toEqual([a, b, c]);
    expect([...lease.fences.keys()]).toEqual([a, b, c]);
    for (const key of lease.keys) {
      const info = await holdfast.inspect(key);
      expect(info?.holders[0]?.fence).toBe(lease.fences.get(key));
      expect(info?.holders).toHaveLength(1);
    }
    expect(lease.held).toBe(true);
    lease.assertHeld();
    expect(lease.remaining).toBeGreaterThan(0);
    expect(lease.remaining).toBeLessThan(5000);
    expect(lease.signal.aborted).toBe(false);
  });

  it('acquires and releases two thousand locks', async () => {
    // a quorum on a busy machine needs longer than the default for so many
    const holdfast = await backend.make({ ttl: 60_000, requestTimeout: 20_000 });
    const prefix = freshKey('many');
    const keys = Array.from({ length: 2000 }, (_, index) => `${prefix} ${index}`);
    const lease = await holdfast.allOf(keys).acquire();
    expect(new Set(lease.fences.keys())).toEqual(new Set(keys));
    expect(lease.held).toBe(true);
    expect(await lease.release()).toBe('freed');
    for (const key of [keys[0], keys[999], keys[1999]] as string[]) {
      expect(await holdfast.inspect(key)).toBeNull();
    }
  });

  it('while it waits for a lock, holds those before it and none after it', async () => {
    const [one, other] = [await backend.make(), await backend.make()];
    const keys = freshKeys(3) as [string, string, string];
    const [a, b, c] = keys;
    const single = await other.mutex(b).acquire();
    const waiting = one.allOf([c, b, a]).acquire();
    await queued(one, b, 1);
    expect(await other.mutex(a).tryAcquire()).toBeNull();
    const free = await other.mutex(c).tryAcquire();
    expect(free?.held).toBe(true);
    await single.release();
    await queued(one, c, 1);
    await free?.release();
    const lease = await waiting;
    expect(lease.held).toBe(true);
    expect(lease.fences.get(b)).toBeGreaterThan(single.fence);
    expect(await lease.release()).toBe('freed');
  });
}

function asking(backend: Backend): void {
  it('takes mutexes with their options, and later options override them', async () => {
    const holdfast = await backend.make();
    const [a, b, c] = freshKeys(3) as [string, string, string];
    const own = holdfast.mutex(a, { label: 'own', sharedBy: 'me' });
    const lease = await holdfast.allOf([own, b, holdfast.mutex(c)], { label: 'all' }).acquire();
    const shown = await Promise.all([a, b, c].map((key) => holdfast.inspect(key)));
    expect(shown.map((info) => info?.holders[0]?.label)).toEqual(['all', 'all', 'all']);
    expect(shown.map((info) => info?.holders[0]?.sharedBy)).toEqual(['me', undefined, undefined]);
    const again = await own.acquire({ wait: 0 });
    expect(await again.release()).toBe('kept');
    expect(await lease.release()).toBe('freed');
  });

  it('refuses invalid keys and options, and sends no request', async () => {
    const [one, other] = [await backend.make(), await backend.make()];
    const key = freshKey();
    const bad = (what: unknown): unknown => {
      try {
        return one.allOf(what as string[]);
      } catch (error) {
        return error;
      }
    };
    const many = Array.from({ length: 10_001 }, (_, index) => `${key} ${index}`);
    for (const keys of [[], 'key', undefined, [key, ''], [key, 7], [other.mutex(key)], many]) {
      expect(bad(keys)).toMatchObject({ code: 'HOLDFAST_BAD_OPTION' });
    }
    const several = one.allOf([key, one.mutex(`${key} 2`, { renew: false })]);
    const error = await failure(several.acquire({ maxHold: 100 }), 'HOLDFAST_BAD_OPTION');
    expect(error.option).toBe('maxHold');
    expect(await one.inspect(key)).toBeNull();
  });
}

function trying(backend: Backend): void {
  it('is refused if one lock is held, and leaves the others free', async () => {
    const [one, other] = [await backend.make(), await backend.make()];
    const keys = freshKeys(4);
    const single = await other.mutex(keys[2] as string).acquire();
    expect(await one.allOf(keys).tryAcquire()).toBeNull();
    await failure(one.allOf(keys).acquire({ wait: 0 }), 'HOLDFAST_TIMEOUT');
    for (const key of keys) if (key !== single.key) await unused(other, key);
    await single.release();
    expect((await one.allOf(keys).tryAcquire())?.held).toBe(true);
  });

  it('is granted if all locks become free in time, and refused otherwise', async () => {
    const [one, other] = [await backend.make(), await backend.make()];
    const keys = freshKeys(2) as [string, string];
    const single = await other.mutex(keys[1]).acquire();
    expect(await one.allOf(keys).tryAcquire({ wait: 30 })).toBeNull();
    await unused(one, keys[0]);
    const trying = one.allOf(keys).tryAcquire({ wait: 30_000 });
    await queued(one, keys[1], 1);
    await single.release();
    expect((await trying)?.keys).toEqual(keys);
  });
}

function releasing(backend: Backend): void {
  it('frees all locks, and returns the same result each time', async () => {
    const [one, other] = [await backend.make(), await backend.make()];
    const keys = freshKeys(3);
    const lease = await one.allOf(keys).acquire();
    expect(lease.outcomes.size).toBe(0);
    expect(await Promise.all([lease.release(), lease.release()])).toEqual(['freed', 'freed']);
    expect([...lease.outcomes]).toEqual(keys.map((key) => [key, 'freed']));
    expect(lease.held).toBe(false);
    expect(lease.remaining).toBe(0);
    expect(lease.signal.aborted).toBe(false);
    const next = await other.allOf(keys).tryAcquire();
    expect(await lease.release()).toBe('freed');
    expect(next?.held).toBe(true);
  });

  it('reports which lock was lost, and which locks the owner still holds', async () => {
    const [one, other] = [await backend.make(), await backend.make()];
    const keys = freshKeys(3) as [string, string, string];
    const [a, b, c] = keys;
    const outer = await one.mutex(b, { sharedBy: 'me' }).acquire();
    const lease = await one.allOf(keys, { sharedBy: 'me' }).acquire();
    expect((await other.forceRelease(c)).ended).toBe(1);
    expect(await lease.release()).toBe('lost');
    expect(Object.fromEntries(lease.outcomes)).toEqual({ [a]: 'freed', [b]: 'kept', [c]: 'lost' });
    expect(await outer.release()).toBe('freed');
  });

  it('happens at the end of an `await using` block', async () => {
    const holdfast = await backend.make();
    const keys = freshKeys(2);
    let seen: MultiLease | undefined;
    {
      await using lease = await holdfast.allOf(keys).acquire();
      seen = lease;
      expect(lease.held).toBe(true);
    }
    expect(seen.held).toBe(false);
    for (const key of keys) expect(await holdfast.inspect(key)).toBeNull();
  });
}

function working(backend: Backend): void {
  it('resolves to the result of the work, and rejects with its error', async () => {
    const holdfast = await backend.make();
    const several = holdfast.allOf(freshKeys(2));
    expect(await several.run((lease) => lease.held)).toBe(true);
    const work = (): never => {
      throw new Error('own');
    };
    await expect(several.run(work)).rejects.toThrow('own');
    for (const key of several.keys) expect(await holdfast.inspect(key)).toBeNull();
  });

  it('rejects with HOLDFAST_LOST for the lost key, and releases the others', async () => {
    const [one, other] = [await backend.make(), await backend.make()];
    const keys = freshKeys(3) as [string, string, string];
    const work = (): Promise<unknown> => other.forceRelease(keys[1]);
    const error = await failure(one.allOf(keys).run(work), 'HOLDFAST_LOST');
    expect(error.key).toBe(keys[1]);
    for (const key of keys) await unused(one, key);
  });

  it('extends all leases, and rejects when one cannot be extended', async () => {
    const [one, other] = [await backend.make({ ttl: 5000 }), await backend.make()];
    const keys = freshKeys(3) as [string, string, string];
    const lease = await one.allOf(keys).acquire();
    expect(await lease.extend(20_000)).toBeGreaterThanOrEqual(20_000);
    expect(await lease.ensure(20_000)).toBeGreaterThan(15_000);
    await other.forceRelease(keys[2]);
    const error = await failure(later(lease.extend(30_000)), 'HOLDFAST_LOST');
    expect(error.key).toBe(keys[2]);
    expect(lease.held).toBe(false);
    expect(lease.signal.reason).toMatchObject({ code: 'HOLDFAST_LOST', key: keys[2] });
    await failure(lease.extend(Number.NaN), 'HOLDFAST_BAD_OPTION');
    expect(() => lease.assertHeld()).toThrow(error.message);
    expect(await lease.release()).toBe('lost');
  });
}
