/** The behaviour of the mutex, on any backend. */
import { paced } from 'holdfast-testkit';
import { describe, expect, it } from 'vitest';
import type { Lease } from '../../src/index.js';
import type { Backend } from '../support/backends.js';
import { aborted, failure, freshKey, later, queued, unused } from './helpers.js';
import { mutexState, refusingItself, refusingParked } from './lock-state.js';
import { mutexExclusion } from './mutex-exclusion.js';
import { mutexCancellation } from './mutex-cancellation.js';
import { mutexOrder } from './mutex-order.js';
import { mutexServerFaults } from './mutex-server-faults.js';

export function mutexSuite(backend: Backend): void {
  describe('taking', () => taking(backend));
  describe('releasing', () => releasing(backend));
  describe('run', () => running(backend));
  describe('exclusion', () => mutexExclusion(backend));
  describe('order', () => mutexOrder(backend));
  describe('state', () => {
    mutexState(backend);
    refusingItself(backend);
    refusingParked(backend);
  });
  describe('cancellation', () => mutexCancellation(backend));
  if (backend.store === 'redis') describe('server faults', () => mutexServerFaults(backend));
}

function taking(backend: Backend): void {
  it('grants a free lock', async () => {
    const holdfast = await backend.make({ ttl: 5000 });
    const key = freshKey();
    const lease = await holdfast.mutex(key).acquire();
    expect(lease).toMatchObject({ key, held: true, holds: 1 });
    expect(lease.id).toMatch(/^[\w-]+\.[0-9a-z]+$/);
    expect(Number.isSafeInteger(lease.fence)).toBe(true);
    expect(lease.remaining).toBeGreaterThan(0);
    expect(lease.remaining).toBeLessThan(5000);
    expect(lease.signal.aborted).toBe(false);
    lease.assertHeld();
  });

  it('refuses tryAcquire while another holds it', async () => {
    const [one, other] = [await backend.make(), await backend.make()];
    const key = freshKey();
    await using _lease = await one.mutex(key).acquire();
    expect(await other.mutex(key).tryAcquire()).toBeNull();
    expect(await one.mutex(key).tryAcquire()).toBeNull();
    expect((await one.inspect(key))?.waiterCount).toBe(0);
  });

  it('grants an acquisition with a wait limit if the lock becomes free in time', async () => {
    const [one, other] = [await backend.make(), await backend.make()];
    const key = freshKey();
    const lease = await one.mutex(key).acquire();
    const trying = other.mutex(key).tryAcquire({ wait: 30_000 });
    await queued(one, key, 1);
    await lease.release();
    expect(await trying).toMatchObject({ key, held: true });
  });

  it('grants locks of different keys at the same time', async () => {
    const holdfast = await backend.make();
    const keys = Array.from({ length: 50 }, () => freshKey());
    const leases = await Promise.all(keys.map((key) => holdfast.mutex(key).acquire({ wait: 0 })));
    expect(leases.map(({ key }) => key)).toEqual(keys);
    expect(new Set(leases.map(({ id }) => id)).size).toBe(50);
  });

  it('refuses invalid keys and options, and sends no request', async () => {
    const holdfast = await backend.make();
    const mutex = holdfast.mutex(freshKey());
    const wrong = { wait: -1 };
    const error = await failure(mutex.acquire(wrong), 'HOLDFAST_BAD_OPTION');
    expect(error.option).toBe('wait');
    await failure(mutex.tryAcquire({ ttl: Number.NaN }), 'HOLDFAST_BAD_OPTION');
    await failure(
      mutex.run(() => 1, { sharedBy: '' }),
      'HOLDFAST_BAD_OPTION',
    );
    expect(await holdfast.inspect(mutex.key)).toBeNull();
  });

  it('refuses an acquisition when the queue is full', async () => {
    const holdfast = await backend.make({ maxQueue: 1 });
    const key = freshKey();
    await using _lease = await holdfast.mutex(key).acquire();
    const first = later(holdfast.mutex(key).acquire());
    await queued(holdfast, key, 1);
    const error = await failure(holdfast.mutex(key).acquire(), 'HOLDFAST_REFUSED');
    expect(error.message).toContain('maxQueue');
    await queued(holdfast, key, 1);
    void first;
  });
}

function releasing(backend: Backend): void {
  it('frees the lock, and returns the same result each time', async () => {
    const [one, other] = [await backend.make(), await backend.make()];
    const key = freshKey();
    const lease = await one.mutex(key).acquire();
    expect(await Promise.all([lease.release(), lease.release()])).toEqual(['freed', 'freed']);
    expect(lease.held).toBe(false);
    expect(lease.remaining).toBe(0);
    const next = await other.mutex(key).tryAcquire();
    expect(await lease.release()).toBe('freed');
    expect(next?.held).toBe(true);
    expect((await one.inspect(key))?.holders[0]?.id).toBe(next?.id);
  });

  it('happens at the end of an `await using` block, also when it throws', async () => {
    const holdfast = await backend.make();
    const mutex = holdfast.mutex(freshKey());
    let seen: Lease | undefined;
    const block = async (): Promise<void> => {
      await using lease = await mutex.acquire();
      seen = lease;
      expect(lease.held).toBe(true);
      throw new Error('out of here');
    };
    await expect(block()).rejects.toThrow('out of here');
    expect(seen?.held).toBe(false);
    expect(await holdfast.inspect(mutex.key)).toBeNull();
  });

  it('happens in `finally`', async () => {
    const holdfast = await backend.make();
    const mutex = holdfast.mutex(freshKey());
    const lease = await mutex.acquire();
    try {
      expect(lease.held).toBe(true);
    } finally {
      await lease.release();
    }
    expect(await holdfast.inspect(mutex.key)).toBeNull();
  });

  it('after the lease expired returns "lost", and does not affect the next holder', async () => {
    const [one, other] = [await backend.make(), await backend.make()];
    const key = freshKey();
    const old = await one.mutex(key).acquire({ ttl: paced(200), renew: false });
    const next = await other.mutex(key).acquire({ wait: 30_000, ttl: 20_000 });
    expect(old.held).toBe(false);
    expect(await old.release()).toBe('lost');
    expect(await old.release()).toBe('lost');
    // a third request is answered after every request that the release has sent
    expect((await one.inspect(key))?.holders.map(({ id }) => id)).toEqual([next.id]);
    expect(await next.extend(20_000)).toBeGreaterThan(0);
    expect(await next.release()).toBe('freed');
  });
}

function running(backend: Backend): void {
  it('resolves to the result of the work, and holds the lock only meanwhile', async () => {
    const holdfast = await backend.make();
    const mutex = holdfast.mutex(freshKey());
    const result = await mutex.run(async (lease) => {
      expect((await holdfast.inspect(mutex.key))?.holders[0]?.id).toBe(lease.id);
      return 42;
    });
    expect(result).toBe(42);
    expect(await mutex.run(() => 'at once')).toBe('at once');
    expect(await holdfast.inspect(mutex.key)).toBeNull();
  });

  it('rejects with the error of the work, and releases', async () => {
    const holdfast = await backend.make();
    const mutex = holdfast.mutex(freshKey());
    const own = new Error('own');
    const work = (): never => {
      throw own;
    };
    expect(await mutex.run(work).catch((error: unknown) => error)).toBe(own);
    expect(await holdfast.inspect(mutex.key)).toBeNull();
  });

  it('rejects with HOLDFAST_LOST if the lease was lost during the work', async () => {
    const holdfast = await backend.make();
    const mutex = holdfast.mutex(freshKey(), { ttl: paced(100), renew: false });
    let reason: unknown;
    const work = async (lease: Lease): Promise<void> => {
      reason = await aborted(lease.signal);
    };
    expect(await failure(mutex.run(work), 'HOLDFAST_LOST')).toBe(reason);
    await unused(holdfast, mutex.key);
  });

  it('rejects with HOLDFAST_LOST if the lease ended before the process learned of it', async () => {
    const [one, other] = [await backend.make(), await backend.make()];
    const mutex = one.mutex(freshKey());
    const work = (): Promise<unknown> => other.forceRelease(mutex.key);
    const error = await failure(mutex.run(work), 'HOLDFAST_LOST');
    expect(error.key).toBe(mutex.key);
  });

  it('rejects with the error of the work rather than with the loss of the lease', async () => {
    const holdfast = await backend.make();
    const mutex = holdfast.mutex(freshKey(), { ttl: paced(100), renew: false });
    const work = async (lease: Lease): Promise<void> => {
      await aborted(lease.signal);
      throw new Error('own');
    };
    await expect(mutex.run(work)).rejects.toThrow('own');
  });

  it('does not start the work without the lock', async () => {
    const holdfast = await backend.make();
    const mutex = holdfast.mutex(freshKey());
    await using _lease = await mutex.acquire();
    let ran = false;
    const work = (): void => {
      ran = true;
    };
    await failure(mutex.run(work, { wait: 20 }), 'HOLDFAST_TIMEOUT');
    expect(ran).toBe(false);
  });
}
