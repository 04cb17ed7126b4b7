/** A server that loses its scripts or all its data. Only on backends with a server. */
import { paced, until } from 'holdfast-testkit';
import { expect, it } from 'vitest';
import type { Backend } from '../support/backends.js';
import { aborted, freshKey, queued, Watch } from './helpers.js';
import { crowd } from './mutex-exclusion.js';

export function mutexServerFaults(backend: Backend): void {
  it('works after SCRIPT FLUSH between any two steps', async () => {
    const holdfast = await backend.make();
    const key = freshKey();
    const flush = (): Promise<unknown> => backend.admin.command('SCRIPT', 'FLUSH');
    await flush();
    const lease = await holdfast.mutex(key).acquire();
    await flush();
    expect(await lease.extend(20_000)).toBeGreaterThanOrEqual(20_000);
    await flush();
    const waiting = holdfast.mutex(key).acquire();
    await flush();
    await queued(holdfast, key, 1);
    await flush();
    expect(await lease.release()).toBe('freed');
    await flush();
    expect(await (await waiting).release()).toBe('freed');
    expect(await holdfast.inspect(key)).toBeNull();
  });

  it('keeps exclusion and fences under SCRIPT FLUSH during traffic', async () => {
    const instances = await Promise.all(Array.from({ length: 3 }, () => backend.make()));
    const watch = new Watch();
    let flushes = 0;
    let going = true;
    const flushing = (async () => {
      while (going) {
        await backend.admin.command('SCRIPT', 'FLUSH');
        flushes += 1;
      }
    })();
    const key = freshKey();
    try {
      await crowd(instances, key, { tasks: 5, times: 6, watch });
    } finally {
      going = false;
      await flushing;
    }
    expect(flushes).toBeGreaterThan(1);
    expect(watch).toMatchObject({ most: 1, ascending: true });
    expect(watch.fences).toHaveLength(90);
    expect(await instances[0]?.inspect(key)).toBeNull();
  });

  it('serves waiters across a restart that loses all data', async () => {
    const quick = { ttl: paced(1000), claimWindow: paced(200) };
    const instances = await Promise.all(Array.from({ length: 3 }, () => backend.make(quick)));
    const [holder, ...others] = instances as [(typeof instances)[0], ...typeof instances];
    const key = freshKey();
    const lease = await holder.mutex(key).acquire();
    const lost = aborted(lease.signal);
    const fences: number[] = [];
    const waiting = others.map((one) =>
      one.mutex(key).run(({ fence }) => {
        fences.push(fence);
      }),
    );
    await queued(holder, key, 2);
    await backend.admin.restart();
    await Promise.all(waiting);
    expect(fences[0]).toBeGreaterThan(lease.fence);
    expect(fences[1]).toBeGreaterThan(fences[0] as number);
    // the old holder learns of it at its next renewal, or at its own deadline
    expect(await lost).toMatchObject({ code: 'HOLDFAST_LOST' });
    await until(async () => (await holder.inspect(key)) === null);
  });
}
