/**
 * Keys under the prefix that another program wrote, and damaged records: one of them is skipped and
 * reported, and the locks beside it are shown.
 */
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { portFor } from '../../src/store/clients/detect.js';
import type { HoldfastError, LockInfo } from '../../src/index.js';
import { RedisStore } from '../../src/store/redis/redis-store.js';
import { type Backend, NEWEST_BACKENDS, onBackends } from '../support/backends.js';
import { asking } from '../support/crowds.js';
import { failure, freshKey } from '../suites/helpers.js';

/** Writes that make a record which cannot be read. */
const PACKED = "redis.call('HSET', KEYS[1], 's', cmsgpack.pack(unpack(ARGV)))";
const LEASES = `
  redis.call('HSET', KEYS[1], 's', cmsgpack.pack(3, 1, 0, 1, 9e15, 0, 1, 0), 'h:a', 'junk')
  redis.call('ZADD', KEYS[2], 9e15, 'a')`;
const WRITES: Record<string, (redis: Redis, name: string) => Promise<unknown>> = {
  'a string': (redis, name) => redis.set(name, 'x'),
  'a list': (redis, name) => redis.rpush(name, 'x'),
  'a sorted set': (redis, name) => redis.zadd(name, 1, 'x'),
  'a stream': (redis, name) => redis.xadd(name, '*', 'a', 'b'),
  'text that is not packed': (redis, name) => redis.hset(name, 's', 'garbage'),
  'empty text': (redis, name) => redis.hset(name, 's', ''),
  'packed text': (redis, name) => redis.eval(PACKED, 1, name, 'a', 'b', 'c', 'd'),
  'a field too few': (redis, name) => redis.eval(PACKED, 1, name, '1'),
  'a damaged lease': (redis, name) => redis.eval(LEASES, 2, name, `${name}:x`),
  'a queue of another type': async (redis, name) => {
    const values = 'cmsgpack.pack(1, 1, 1, 0, 0, 0, 0, 1)';
    await redis.eval(`redis.call('HSET', KEYS[1], 's', ${values})`, 1, name);
    await redis.set(`${name}:q`, 'x');
  },
};

const META = ['null', '[]', '"text"', '7', '{"label":7,"host":null,"pid":"x"}', '{', ''];

function unreadable(backend: Backend): void {
  let redis: Redis;
  let store: RedisStore;

  beforeAll(() => {
    redis = new Redis(backend.admin.port, backend.admin.host);
    store = new RedisStore(portFor(redis), 'holdfast:');
  });
  afterAll(() => redis.disconnect());

  it('a list skips and reports them, and shows the locks beside them', async () => {
    const holdfast = await backend.make();
    const prefix = freshKey('odd');
    const lock = `${prefix} lock`;
    const lease = await holdfast.mutex(lock).acquire();
    for (const [what, write] of Object.entries(WRITES)) {
      await write(redis, `holdfast:{${prefix} ${what}}`);
    }
    const reported: HoldfastError[] = [];
    const found: LockInfo[] = [];
    const onUnreadable = (error: HoldfastError): void => void reported.push(error);
    for await (const info of holdfast.list(`${prefix} *`, { onUnreadable })) found.push(info);
    expect(found.map(({ key }) => key)).toEqual([lock]);
    const keys = Object.keys(WRITES).map((what) => `${prefix} ${what}`);
    expect(new Set(reported.map(({ key }) => key))).toEqual(new Set(keys));
    expect(reported).toHaveLength(keys.length);
    expect(new Set(reported.map(({ code }) => code))).toEqual(new Set(['HOLDFAST_REFUSED']));
    let count = 0;
    for await (const _ of holdfast.list(`${prefix} *`)) count += 1;
    expect(count, 'also without a report').toBe(1);
    await lease.release();
  });

  it.each(Object.keys(WRITES))(
    '%s: every call with the key is refused with a reason',
    async (what) => {
      const holdfast = await backend.make();
      const key = freshKey('odd');
      await WRITES[what]?.(redis, `holdfast:{${key}}`);
      const error = await failure(holdfast.inspect(key), 'HOLDFAST_REFUSED');
      expect(error.message).toMatch(/the record of "odd .*" cannot be read .*: delete the key/);
      await failure(holdfast.forceRelease(key), 'HOLDFAST_REFUSED');
    },
  );

  it.each(META)('a holder that says %s of itself is shown without it', async (meta) => {
    const holdfast = await backend.make();
    const key = freshKey();
    await Promise.all(store.execute([asking('a', { key, capacity: 1, meta, ttl: 60_000 })]));
    const info = (await holdfast.inspect(key)) as LockInfo;
    const nothing = { label: undefined, host: undefined, pid: undefined };
    expect(info.holders).toMatchObject([{ id: 'a', ...nothing }]);
  });

  it('fields that another program added change nothing', async () => {
    const holdfast = await backend.make();
    const key = freshKey();
    const semaphore = holdfast.semaphore(key, { permits: 2 });
    const lease = await semaphore.acquire();
    const name = `holdfast:{${key}}`;
    await redis.hset(name, { foreign: 'x', 'h:foreign': 'x', 'w:foreign': 'x', 'r:foreign': 'x' });
    expect(await holdfast.inspect(key)).toMatchObject({ used: 1, holderCount: 1 });
    // the order is made anew from the fields
    await redis.del(`${name}:x`);
    const other = await semaphore.acquire(1, { wait: 0 });
    expect(await semaphore.tryAcquire()).toBeNull();
    expect(await holdfast.inspect(key)).toMatchObject({ used: 2, holderCount: 2 });
    expect([await lease.release(), await other.release()]).toEqual(['freed', 'freed']);
  });
}

const SERVERS = NEWEST_BACKENDS.filter(({ store }) => store === 'redis');
onBackends('unreadable', SERVERS, unreadable);
