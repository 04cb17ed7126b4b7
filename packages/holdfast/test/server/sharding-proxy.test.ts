/**
 * A proxy that spreads keys over two servers and looks at the first key of a call only. A call for
 * several mutexes would take them at the wrong server, so none is sent behind it.
 */
import {
  type Server,
  type ShardingProxy,
  startServer,
  startShardingProxy,
  until,
} from 'holdfast-testkit';
import { Redis } from 'ioredis';
import { createClient } from 'redis';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Holdfast } from '../../src/index.js';
import { portFor } from '../../src/store/clients/detect.js';
import type { RedisStore } from '../../src/store/redis/redis-store.js';
import { each, free, freeAll, nameOf, storeOn, takeAll } from '../support/cluster-store.js';

const keys = Array.from({ length: 40 }, (_, at) => `k${at}`);
const ends: (() => unknown)[] = [];

describe.each(['ioredis', 'node-redis'] as const)('with %s', (client) => {
  let servers: Server[];
  let proxy: ShardingProxy;
  beforeAll(async () => {
    servers = await Promise.all([0, 1].map(() => startServer({ server: 'redis' })));
  });
  afterAll(() => Promise.all(servers.map((server) => server.stop())));
  beforeEach(async () => {
    for (const server of servers) {
      await server.command('FLUSHALL');
      await server.command('CONFIG', 'RESETSTAT');
    }
    proxy = await startShardingProxy(servers);
  });
  afterEach(async () => {
    for (const end of ends.splice(0)) await end();
    await proxy[Symbol.asyncDispose]();
  });

  async function opened(): Promise<Redis | ReturnType<typeof createClient>> {
    if (client === 'ioredis') {
      const redis = new Redis(proxy.port, proxy.host, { retryStrategy: () => 10 });
      redis.on('error', () => undefined);
      ends.push(() => redis.disconnect());
      return redis;
    }
    const redis = createClient({ url: proxy.url });
    redis.on('error', () => undefined);
    ends.push(() => redis.destroy());
    await redis.connect();
    return redis as ReturnType<typeof createClient>;
  }

  const store = async (): Promise<RedisStore> => storeOn(portFor(await opened()));

  /** Takes and frees mutexes until the store has had time to learn what is behind the address. */
  async function used(one: RedisStore): Promise<RedisStore> {
    for (let round = 0; round < 3; round++) {
      expect(await takeAll(one, keys, `first ${round}`)).toEqual(each('granted', keys));
      expect(await freeAll(one, keys, `first ${round}`)).toEqual(each('freed', keys));
    }
    return one;
  }

  /** The mutexes that a second program gets while a first one has them all. */
  async function taken(first: RedisStore, alone: RedisStore): Promise<number> {
    expect(await takeAll(first, keys, 'first')).toEqual(each('granted', keys));
    const replies = await Promise.all(keys.map((key) => takeAll(alone, [key], 'second')));
    return replies.flat().filter((status) => status === 'granted').length;
  }

  it('each mutex is taken at the server that has its key', async () => {
    expect(new Set(keys.map((key) => proxy.placeOf(nameOf(key))))).toEqual(new Set([0, 1]));
    expect(await taken(await used(await store()), await store())).toBe(0);
  });

  it('the first call of a program takes each mutex at its server too', async () => {
    expect(await taken(await store(), await store())).toBe(0);
  });

  it('control: a call for several takes mutexes at the wrong server', async () => {
    proxy.shards = false;
    const first = await used(await store());
    // on the same connection, after the test for one server
    proxy.shards = true;
    expect(await taken(first, await store())).toBeGreaterThan(0);
  });

  it('leases are renewed at the servers that have them', async () => {
    const one = await used(await store());
    await takeAll(one, keys);
    const command = { op: 'renewMany', keys, ids: keys.map(() => 'a'), retention: 60_000 } as const;
    const [reply] = await Promise.all(one.execute([{ ...command, ttl: 90_000 }]));
    expect(reply).toMatchObject({ left: keys.map(() => 90_000_000) });
    expect(await freeAll(one, keys)).toEqual(each('freed', keys));
  });

  it('a lock on several keys excludes locks on one of them', async () => {
    const [all, single] = [new Holdfast(await opened()), new Holdfast(await opened())];
    ends.unshift(
      () => all.close(),
      () => single.close(),
    );
    const lease = await all.allOf(keys).acquire();
    const second = await Promise.all(keys.map((key) => single.mutex(key).tryAcquire()));
    expect(second).toEqual(keys.map(() => null));
    await lease.release();
    expect(await (await single.mutex('k7').acquire()).release()).toBe('freed');
  });

  it.runIf(client === 'ioredis')('a new connection is tested again', async () => {
    proxy.shards = false;
    const redis = (await opened()) as Redis;
    const one = await used(storeOn(portFor(redis)));
    proxy.shards = true;
    const before = redis.stream;
    proxy.cut();
    await until(() => redis.status === 'ready' && redis.stream !== before);
    expect(await taken(one, await store())).toBe(0);
  });

  it.each(['ERR Connection refused', 'upstream failure'])(
    'an outage that the proxy tells as "%s" is no refusal',
    async (text) => {
      const own = new Holdfast(await opened());
      ends.unshift(() => own.close({ grace: 0 }));
      const lease = await own.mutex('held').acquire();
      proxy.outage = text;
      const code = 'HOLDFAST_UNREACHABLE';
      await expect(own.mutex('k').tryAcquire()).rejects.toMatchObject({ code });
      await expect(own.list().next()).rejects.toMatchObject({ code });
      const { findings } = await own.doctor();
      expect(findings[0]).toMatchObject({ code: 'unreachable', evidence: text });
      expect(lease.held).toBe(true);
      proxy.outage = '';
      expect(await lease.release()).toBe('freed');
    },
  );

  it('the mark of the test is removed', async () => {
    const one = await used(await store());
    for (const key of keys) await one.execute([free(key, 'none')])[0];
    for (const server of servers) expect(await server.command('KEYS', '*one server*')).toEqual([]);
  });

  it('one server gets one call for several mutexes', async () => {
    proxy.shards = false;
    const one = await used(await store());
    await servers[0]?.command('CONFIG', 'RESETSTAT');
    await takeAll(one, keys);
    const stats = await servers[0]?.commandstats();
    expect(stats?.get('evalsha')?.calls).toBe(1);
  });
});
