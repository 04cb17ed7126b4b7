/** A semaphore that continues with the number of permits in use, on any backend. */
import { expect, it } from 'vitest';
import type { Semaphore } from '../../src/index.js';
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

  it('is not adopted from another kind of lock', async () => {
    const [key, , fresh] = await roll();
    await using lease = await (await backend.make()).rwLock(key).read.acquire();
    await failure(fresh.acquire(), 'HOLDFAST_MISMATCH');
    await failure(fresh.setPermits(3), 'HOLDFAST_MISMATCH');
    expect(lease.held).toBe(true);
  });
}
