/** A semaphore that continues with the number of permits in use, on any backend. */
import { expect, it } from 'vitest';
import type { Holdfast, Lease, Semaphore } from '../../src/index.js';
import type { Backend } from '../support/backends.js';
import { failure, freshKey } from './helpers.js';
import { WeightWatch } from './rw-lock.js';

/** Old and new processes run at the same time: they were started with 5 and with 8 permits. */
export function adopting(backend: Backend): void {
  const roll = async (): Promise<[string, Semaphore, Semaphore]> => {
    const [old, fresh] = [await backend.make(), await backend.make()];
    const key = freshKey();
    const [five, eight] = [5, 8].map((permits) => ({ permits, onMismatch: 'adopt' as const }));
    return [key, old.semaphore(key, five as never), fresh.semaphore(key, eight as never)];
  };

  it('is adopted from a semaphore in use', async () => {
    const [key, old, fresh] = await roll();
    await using first = await old.acquire(2);
    await using second = await fresh.acquire(3);
    expect(await fresh.tryAcquire()).toBeNull();
    expect(await (await backend.make()).inspect(key)).toMatchObject({ permits: 5, used: 5 });
    expect([first.held, second.held, fresh.permits]).toEqual([true, true, 5]);
    const error = await failure(fresh.acquire(6), 'HOLDFAST_MISMATCH');
    expect(error.message).toContain('in use as a semaphore with 5 permits');
  });

  it('refuses more permits than are in use, and grants them once none is', async () => {
    const [key, old, fresh] = await roll();
    const first = await old.acquire(1);
    const second = await fresh.acquire(1);
    await failure(fresh.tryAcquire(8), 'HOLDFAST_MISMATCH');
    await failure(fresh.acquire(8), 'HOLDFAST_MISMATCH');
    await second.release();
    await first.release();
    await using third = await fresh.acquire(8, { wait: 30_000 });
    expect(third.permits).toBe(8);
    expect(await (await backend.make()).inspect(key)).toMatchObject({ permits: 8, used: 8 });
  });

  it('is never exceeded while old and new processes run', async () => {
    const [, old, fresh] = await roll();
    const inside = new WeightWatch();
    const work = Array.from({ length: 24 }, (_, at) => {
      const permits = 1 + (at % 4);
      return (at % 2 === 0 ? old : fresh).run(() => inside.visit(permits), { permits });
    });
    await Promise.all(work);
    expect(inside.visits).toBe(24);
    expect(inside.most).toBeLessThanOrEqual(8);
  });

  it('is set without knowing the old one, and all processes adopt it', async () => {
    const [, old, fresh] = await roll();
    const first = await old.acquire(5);
    await fresh.setPermits(8);
    await using second = await fresh.acquire(3);
    expect(await old.tryAcquire()).toBeNull();
    await first.release();
    await using third = await old.acquire(5);
    expect([second.held, third.held, old.permits]).toEqual([true, true, 8]);
  });

  ofAnotherKind(backend);
}

/** The key is in use as another kind of lock. */
function ofAnotherKind(backend: Backend): void {
  it.each<[string, string, (one: Holdfast, key: string) => Promise<Lease>]>([
    ['a read-write lock', 'a read-write lock', (one, key) => one.rwLock(key).read.acquire()],
    ['a mutex', 'a mutex', (one, key) => one.mutex(key).acquire()],
    ['a mutex of an owner', 'a mutex', (one, key) => one.mutex(key).acquire({ sharedBy: 'us' })],
    ['an election', 'a mutex', async (one, key) => (await one.election(key).campaign()).lease],
  ])('is neither adopted from %s nor changes it', async (_, kind, acquire) => {
    const [one, other] = [await backend.make(), await backend.make()];
    const key = freshKey();
    const fresh = other.semaphore(key, { permits: 8, onMismatch: 'adopt' });
    await using lease = await acquire(one, key);
    const before = await one.inspect(key);
    const sole = other.semaphore(key, { permits: 1 });
    const calls: (() => Promise<unknown>)[] = [
      () => fresh.acquire(),
      () => fresh.setPermits(3),
      () => fresh.changePermits(1),
      () => fresh.available(),
      () => fresh.drain(),
      () => fresh.whenPermits(9, { wait: 0 }),
      () => sole.tryAcquire(),
      () => sole.setPermits(2),
      () => sole.changePermits(1),
      () => sole.available(),
    ];
    for (const [at, call] of calls.entries()) {
      const error = await failure(call(), 'HOLDFAST_MISMATCH');
      expect(error.message, `${at}`).toContain(`in use as ${kind}`);
    }
    const second = await other
      .mutex(key)
      .tryAcquire()
      .catch(() => null);
    expect(second).toBeNull();
    const { permits, used, holderCount, waiterCount } = (await one.inspect(key)) ?? {};
    expect({ permits, used, holderCount, waiterCount }).toEqual({
      ...{ permits: before?.permits, used: before?.used },
      ...{ holderCount: 1, waiterCount: 0 },
    });
    expect(lease.held).toBe(true);
  });
}
