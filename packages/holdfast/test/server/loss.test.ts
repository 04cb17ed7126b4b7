/**
 * A server loses one of the keys of a lock or a gate that has holders, waiters and parked waiters.
 * Afterwards each one is served or told, the number of requests stays bounded, and the key expires.
 * See `loss.differential.test.ts` for the state that the scripts keep.
 */
import { paced, until } from 'holdfast-testkit';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Holdfast, Lease } from '../../src/index.js';
import { type Backend, NEWEST_BACKENDS, onBackends } from '../support/backends.js';
import { waiting } from '../suites/gates-helpers.js';
import { freshKey, later, queued, unused } from '../suites/helpers.js';

const OPTIONS = { ttl: 1200, claimWindow: 200, retention: 5000 };
const PARTS = { record: '', queue: ':q', expiries: ':x' } as const;
type Part = keyof typeof PARTS;
const GATE_PARTS = [':g', ':ga', ':gp', ':gx'] as const;

interface Face {
  acquire(): Promise<Lease>;
  tryAcquire(): Promise<Lease | null>;
}

let owners = 0;

/** Each kind of lock, and its number of holders. */
const KINDS: Record<string, readonly [holders: number, of: (on: Holdfast, key: string) => Face]> = {
  mutex: [
    1,
    (on, key) => {
      const mutex = on.mutex(key);
      // the acquisitions of different owners have an entry each
      const acquire = (): Promise<Lease> => mutex.acquire({ sharedBy: `${(owners += 1)}` });
      return { acquire, tryAcquire: () => mutex.tryAcquire() };
    },
  ],
  semaphore: [
    3,
    (on, key) => {
      const semaphore = on.semaphore(key, { permits: 3 });
      return { acquire: () => semaphore.acquire(), tryAcquire: () => semaphore.tryAcquire() };
    },
  ],
  'write lock': [1, (on, key) => on.rwLock(key).write],
};
const CASES = Object.keys(KINDS).flatMap((kind) =>
  (Object.keys(PARTS) as Part[]).map((part) => [kind, part] as const),
);

function losses(backend: Backend): void {
  let redis: Redis;
  beforeAll(() => {
    redis = new Redis(backend.admin.port, backend.admin.host);
  });
  afterAll(() => redis.disconnect());

  const make = async (): Promise<Holdfast> => {
    const holdfast = await backend.make(OPTIONS);
    // the first use of several keys at once tests for one server, which would be counted
    const use = (): Promise<void> => holdfast.mutex(freshKey()).run(async () => undefined);
    await Promise.all([use(), use()]);
    return holdfast;
  };
  const lose = (key: string, end: string): Promise<number> => redis.del(`holdfast:{${key}}${end}`);
  /** The number of script calls so far. */
  const calls = async (): Promise<number> =>
    Number(/cmdstat_evalsha:calls=(\d+)/.exec(await redis.info('commandstats'))?.[1] ?? 0);

  it.each(CASES)(
    'a %s with holders and waiters loses its %s',
    { timeout: paced(30_000) },
    async (...of) => {
      const [kind, part] = of;
      const [one, other] = [await make(), await make()];
      const key = freshKey();
      const [count, face] = KINDS[kind] as (typeof KINDS)[string];
      const holders = await Promise.all(
        Array.from({ length: count }, () => face(one, key).acquire()),
      );
      let granted = 0;
      const waiters = Array.from({ length: 4 }, async () => {
        const lease = await face(other, key).acquire();
        granted += 1;
        await lease.release();
      });
      await queued(one, key, 4);
      await lose(key, PARTS[part]);
      const info = await one.inspect(key);
      if (part !== 'record') {
        expect(info).toMatchObject({ holderCount: count, waiterCount: 4 });
        expect(await face(one, key).tryAcquire()).toBeNull();
        const before = await calls();
        let own = 0;
        // a wait of three claim windows
        await until(async () => {
          own += 1;
          return (await one.inspect(key))?.waiters.every(({ waitedFor }) => waitedFor > 600);
        });
        expect((await calls()) - before - own, 'requests meanwhile').toBeLessThan(40);
        expect(granted, 'while others hold').toBe(0);
        expect(holders.every(({ held }) => held)).toBe(true);
      }
      await Promise.all(holders.map((lease) => lease.release()));
      await Promise.all(waiters);
      await unused(one, key);
    },
  );

  it.each(CASES)('a %s that loses its %s can be forced', async (kind, part) => {
    const one = await make();
    const key = freshKey();
    const [count, face] = KINDS[kind] as (typeof KINDS)[string];
    const holders = await Promise.all(
      Array.from({ length: count }, () => face(one, key).acquire()),
    );
    await lose(key, PARTS[part]);
    expect((await one.forceRelease(key)).ended).toBe(part === 'record' ? 0 : count);
    await unused(one, key);
    const next = await face(one, key).acquire();
    for (const { fence } of holders) expect(next.fence).toBeGreaterThan(fence);
    const keys: string[] = [];
    for await (const found of one.list(key)) keys.push(found.key);
    expect(keys).toEqual([key]);
    expect(await next.release()).toBe('freed');
  });

  it.each(Object.keys(PARTS) as Part[])('a condition loses the %s of its mutex', async (part) => {
    const one = await make();
    const key = freshKey();
    const mutex = one.mutex(key);
    const lease = await mutex.acquire();
    const woken = later(mutex.condition('c').await(lease, { wait: 3000 }));
    await until(async () => (await one.inspect(key))?.parkedCount === 1);
    await lose(key, PARTS[part]);
    const signalling = later(mutex.run((own) => mutex.condition('c').signal(own)));
    // without its record the waiter comes back by itself, before or after the signal
    if (part === 'record') await Promise.allSettled([woken]);
    else expect(await woken).toBe(true);
    await lease.release().catch(() => undefined);
    await signalling;
    await unused(one, key);
  });

  it.each(GATE_PARTS)(
    'a latch and a barrier that lose %s settle',
    { timeout: paced(30_000) },
    async (end) => {
      const [one, other] = [await make(), await make()];
      const [latch, barrier] = [freshKey(), freshKey()];
      const opened = later(one.latch(latch, { count: 2 }).await());
      await other.latch(latch, { count: 2 }).countDown();
      const passed = later(one.barrier(barrier, { parties: 2 }).await());
      await waiting(other.barrier(barrier, { parties: 2 }), 1);
      await Promise.all([lose(latch, end), lose(barrier, end)]);
      await other.latch(latch, { count: 2 }).countDown(2);
      // a first generation has no earlier state to lose, and continues
      if (end === ':gp') await other.barrier(barrier, { parties: 2 }).await();
      const [, passage] = await Promise.allSettled([opened, passed]);
      expect(passage?.status).toBe(end === ':gp' ? 'fulfilled' : 'rejected');
      const again = [one, other].map((on) => on.barrier(barrier, { parties: 2 }).await());
      await Promise.all(again);
    },
  );
}

const SERVERS = NEWEST_BACKENDS.filter(({ store }) => store === 'redis');
onBackends('loss', SERVERS, losses);
