/** One holder at a time: among tasks, among instances, and with direct hand-off. */
import { expect, it } from 'vitest';
import type { Holdfast } from '../../src/index.js';
import type { Backend } from '../support/backends.js';
import { freshKey, queued, Watch } from './helpers.js';

/** Many tasks of several instances; each enters the critical section several times. */
export async function crowd(
  instances: readonly Holdfast[],
  key: string,
  { tasks, times, watch }: { tasks: number; times: number; watch: Watch },
): Promise<void> {
  const task = async (holdfast: Holdfast): Promise<void> => {
    for (let round = 0; round < times; round++) {
      await holdfast.mutex(key).run(({ fence }) => watch.visit(fence));
    }
  };
  const all = instances.flatMap((one) => Array.from({ length: tasks }, () => task(one)));
  await Promise.all(all);
}

export function mutexExclusion(backend: Backend): void {
  it('admits one of many tasks of an instance at a time, with growing fences', async () => {
    const watch = new Watch();
    await crowd([await backend.make()], freshKey(), { tasks: 16, times: 4, watch });
    expect(watch).toMatchObject({ most: 1, ascending: true });
    expect(watch.fences).toHaveLength(64);
  });

  it('admits one of many tasks of many instances at a time, with growing fences', async () => {
    const watch = new Watch();
    const instances = await Promise.all(Array.from({ length: 4 }, () => backend.make()));
    await crowd(instances, freshKey(), { tasks: 6, times: 4, watch });
    expect(watch).toMatchObject({ most: 1, ascending: true });
    expect(watch.fences).toHaveLength(96);
  });

  it('control: the watch detects tasks that enter without the lock', async () => {
    const holdfast = await backend.make();
    const watch = new Watch();
    const key = freshKey();
    const stranger = watch.visit(0);
    await holdfast.mutex(key).run(({ fence }) => watch.visit(fence));
    await stranger;
    await watch.visit(1);
    expect(watch.ascending).toBe(false);
    // one intruder may have left before the lock was granted, so the test uses two that overlap
    await Promise.all([watch.visit(2), watch.visit(3)]);
    expect(watch.most).toBeGreaterThan(1);
  });

  it('hands over to a waiter in another instance by push, long before its next poll', async () => {
    // no waiter polls and no lease expires within a minute
    const patient = { ttl: 60_000, claimWindow: 60_000, retention: 600_000 };
    const [one, other] = [await backend.make(patient), await backend.make(patient)];
    const key = freshKey();
    for (const [from, to] of [
      [one, other],
      [other, one],
    ] as const) {
      const lease = await from.mutex(key).acquire();
      const waiting = to.mutex(key).acquire();
      await queued(one, key, 1);
      await lease.release();
      const next = await waiting;
      expect(next.fence).toBeGreaterThan(lease.fence);
      await next.release();
    }
  });

  it('hands over from task to task of one instance', async () => {
    const patient = { ttl: 60_000, claimWindow: 60_000, retention: 600_000 };
    const holdfast = await backend.make(patient);
    const key = freshKey();
    const first = await holdfast.mutex(key).acquire();
    const waiting = Array.from({ length: 30 }, () => holdfast.mutex(key).acquire());
    await queued(holdfast, key, 30);
    const fences = [first.fence];
    await first.release();
    for (const next of waiting) {
      const lease = await next;
      fences.push(lease.fence);
      expect(await lease.release()).toBe('freed');
    }
    expect([...fences].sort((a, b) => a - b)).toEqual(fences);
    expect(await holdfast.inspect(key)).toBeNull();
  });
}
