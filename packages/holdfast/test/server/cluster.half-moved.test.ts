/**
 * Slots whose move goes on or has stopped: the main record of a lock is at one of two nodes, and
 * its other keys do not exist, so no node executes a call that names all three.
 */
import { type Cluster, type Server, SLOTS, startCluster, startProxy } from 'holdfast-testkit';
import { Cluster as IoredisCluster } from 'ioredis';
import { Cluster as IoredisCluster5 } from 'ioredis-5';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { Holdfast } from '../../src/index.js';
import { portFor } from '../../src/store/clients/detect.js';
import { slotOf } from '../../src/store/redis/hash-slot.js';
import { Made } from '../support/backends.js';
import { openCluster } from '../support/clusters.js';
import { openGlideCluster } from '../support/glide.js';
import { freshKey } from '../suites/helpers.js';
import { opened, type Opened } from './clients.support.js';

/** By name; the client adds a prefix to keys, if it can. */
const CLIENTS: Readonly<Record<string, (keyPrefix?: string) => Promise<Opened>>> = {
  'ioredis-6': (keyPrefix = '') => openCluster('ioredis-6', cluster.nodes, { keyPrefix }),
  'node-redis-6': (keyPrefix = '') => openCluster('node-redis-6', cluster.nodes, { keyPrefix }),
  'ioredis-6 with enableAutoPipelining': async (keyPrefix = '') => {
    const client = new IoredisCluster([...cluster.nodes], {
      keyPrefix,
      enableAutoPipelining: true,
    });
    return opened(client, async () => client.disconnect());
  },
};
const NAMES = [...Object.keys(CLIENTS), 'valkey-glide'];
const TERMS = { ttl: 60_000, unreachableAfter: 5000 };

let cluster: Cluster;
const made = new Made();
beforeAll(async () => {
  cluster = await startCluster({ server: 'redis', masters: 2 });
});
afterEach(() => made.close());
afterAll(() => cluster.stop());

/** A new key whose lock is on the first master. */
function keyOnFirst(prefix = ''): string {
  for (;;) {
    const key = freshKey();
    if (slotOf(`${prefix}holdfast:{${key}}`) < SLOTS / 2) return key;
  }
}

/** Begins to move a slot to the second master, and moves its keys if asked. Returns the end. */
async function halfMove(slot: number, keysToo: boolean): Promise<() => Promise<void>> {
  const [from, to] = cluster.masters as [Server, Server];
  await cluster.halfMoveSlot(slot, to, keysToo);
  return async () => {
    await to.command('CLUSTER', 'SETSLOT', slot, 'STABLE');
    await from.command('CLUSTER', 'SETSLOT', slot, 'STABLE');
  };
}

describe.each(NAMES)('%s', (name) => {
  const open = CLIENTS[name] ?? ((): Promise<Opened> => openGlideCluster(cluster.nodes));

  it.each([
    ['at its former node', false, ''],
    ['at its next node', true, ''],
    ...(name in CLIENTS ? [['at its next node, with a keyPrefix', true, 'app:'] as const] : []),
  ] as const)(
    'a lock whose record is %s is acquired, extended and released',
    async (_, moved, keyPrefix) => {
      const holdfast = await made.on(open(keyPrefix), TERMS);
      const key = keyOnFirst(keyPrefix);
      const slot = slotOf(`${keyPrefix}holdfast:{${key}}`);
      const held = await holdfast.mutex(key).acquire();
      const end = await halfMove(slot, moved);
      expect(await held.extend(60_000)).toBeGreaterThan(0);
      expect(await held.release()).toBe('freed');
      for (let turn = 0; turn < 2; turn++) {
        const lease = await holdfast.mutex(key).tryAcquire();
        expect(lease?.fence).toBeGreaterThan(held.fence);
        expect(await holdfast.mutex(key).tryAcquire()).toBeNull();
        expect(await lease?.release()).toBe('freed');
      }
      await end();
    },
  );

  it('the doctor names the slots', async () => {
    const holdfast = await made.on(open(), TERMS);
    const found = async (): Promise<object[]> =>
      (await holdfast.doctor()).findings.filter(({ code }) => code === 'open-slots');
    expect(await found()).toEqual([]);
    const end = await halfMove(93, false);
    const evidence = expect.stringMatching(/^CLUSTER NODES: slot 93 (to|from) \w+$/);
    expect(await found()).toMatchObject([{ evidence }, { evidence }]);
    await end();
  });
});

it('valkey-glide: after one call without an answer, no call with several keys waits', async () => {
  const { port, close } = await openGlideCluster(cluster.nodes);
  // the tag decides
  const key = keyOnFirst();
  const slot = slotOf(`{${key}}`);
  await port.eval("return redis.call('SET', KEYS[1], 1)", [`{${key}}`], []);
  const several = (): Promise<unknown> => port.eval('return 7', [`{${key}}`, `{${key}}:q`], []);
  const end = await halfMove(slot, false);
  await expect(several()).rejects.toThrow('timed out');
  for (let turn = 0; turn < 2; turn++) await expect(several()).rejects.toThrow('TRYAGAIN');
  await end();
  expect(await several()).toBe(7);
  await close();
});

/**
 * After a redirection, ioredis has an address to which it has not applied `natMap` in all slots of
 * a master, until it has read the slots again. Here it cannot read them.
 */
describe.each([
  ['ioredis-5', IoredisCluster5],
  ['ioredis-6', IoredisCluster],
] as const)('%s with natMap, after a redirection', (_, Client) => {
  it.each([
    ['from the next node', false],
    ['to another node', true],
  ])('%s: a lock in a half-moved slot is acquired, extended and released', async (_, other) => {
    const proxies = await Promise.all(cluster.nodes.map((node) => startProxy(node)));
    const natMap = (address: string): { host: string; port: number } | null => {
      const at = cluster.nodes.findIndex(({ host, port }) => `${host}:${port}` === address);
      return proxies[at] === undefined ? null : { host: proxies[at].host, port: proxies[at].port };
    };
    const start = proxies.map(({ host, port }) => ({ host, port }));
    const client = new Client(start, { natMap, lazyConnect: true });
    await client.connect();
    const own = opened(client, async () => client.disconnect());
    const holdfast = await made.on(Promise.resolve(own), TERMS);
    const [key, moved] = [keyOnFirst(), keyOnFirst()];
    const slot = slotOf(`holdfast:{${key}}`);
    const held = await holdfast.mutex(key).acquire();
    const end = await halfMove(slot, false);
    const times = Number.POSITIVE_INFINITY;
    for (const proxy of proxies) proxy.dropReply(([word]) => word === 'cluster', { times });
    const [from, to] = cluster.masters as [Server, Server];
    const present = (): string | undefined => client.slots[slot]?.[0];
    if (other) {
      await cluster.moveSlot(slotOf(moved), to);
      await client.get(moved);
      expect(present()).toBe(`${to.host}:${to.port}`);
    } else {
      while (present() !== `${from.host}:${from.port}`) {
        const names = [`{${key}}`, `{${key}}1`].map((one) => `holdfast:${one}`);
        await client.mget(names).catch(() => undefined);
      }
    }
    expect(portFor(client).cluster?.masterOf(slot)).toBe(
      Object.values(natMap(present() as string) ?? {}).join(':'),
    );
    expect(await held.extend(60_000)).toBeGreaterThan(0);
    expect(await held.release()).toBe('freed');
    const lease = await holdfast.mutex(key).tryAcquire();
    expect(await lease?.release()).toBe('freed');
    await end();
    if (other) await cluster.moveSlot(slotOf(moved), from);
    await made.close();
    await Promise.all(proxies.map((proxy) => proxy.close()));
  });
});

describe('an ioredis cluster client', () => {
  const open = (options: object = {}): IoredisCluster => {
    const start = cluster.nodes.map(({ host, port }) => ({ host, port }));
    const client = new IoredisCluster(start, options);
    client.on('error', () => undefined);
    return client;
  };

  it.each([{}, { lazyConnect: true }])('%j: warmUp may be the first call', async (options) => {
    const client = open(options);
    const holdfast = new Holdfast(client);
    await holdfast.warmUp();
    expect(await holdfast.ready()).toMatchObject({ pushes: true });
    await holdfast.close();
    client.disconnect();
  });

  it('with lazyConnect is connected by the doctor', async () => {
    const client = open({ lazyConnect: true });
    const holdfast = new Holdfast(client);
    const { servers, findings } = await holdfast.doctor();
    expect(servers).toHaveLength(2);
    expect(findings.filter(({ code }) => code === 'unreachable')).toEqual([]);
    await holdfast.close();
    client.disconnect();
  });

  it('with a tag in its keyPrefix is examined by the doctor', async () => {
    const client = open({ keyPrefix: '{app}:' });
    const holdfast = new Holdfast(client);
    expect((await holdfast.doctor()).servers).toHaveLength(2);
    await holdfast.close();
    client.disconnect();
  });

  it('with commandTimeout: a release that was not answered in time is not lost', async () => {
    const client = open({ redisOptions: { commandTimeout: 100 } });
    const holdfast = new Holdfast(client, { ttl: 60_000, requestTimeout: 5000 });
    const [first] = cluster.masters as [Server];
    for (let turn = 0; turn < 5; turn++) {
      const key = keyOnFirst();
      const lease = await holdfast.mutex(key).acquire();
      await first.command('CLIENT', 'PAUSE', '250', 'ALL');
      const outcome = await lease.release().catch(({ code }: { code: string }) => code);
      expect(['freed', 'HOLDFAST_UNCERTAIN']).toContain(outcome);
    }
    await holdfast.close();
    client.disconnect();
  });
});
