/** A cluster whose slots move, whose nodes fail, and whose keys have odd names. */
import { readFileSync } from 'node:fs';
import {
  type Cluster,
  type Server,
  type ServerName,
  SLOTS,
  paced,
  startCluster,
  until,
} from 'holdfast-testkit';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Holdfast, HoldfastOptions, LockInfo } from '../../src/index.js';
import { slotOf } from '../../src/store/redis/hash-slot.js';
import { CLIENTS, type ClientName, Made } from '../support/backends.js';
import { type ClusterLogin, openCluster } from '../support/clusters.js';
import { rightsOf } from '../support/documented-rights.js';
import { freshKey, queued } from '../suites/helpers.js';

/** A poll would come after 15 s, so each grant arrives by push. */
const QUIET = { claimWindow: 60_000, ttl: 600_000, retention: 600_000 };

const GUIDE = readFileSync(new URL('../../../../SECURITY.md', import.meta.url), 'utf8');

let cluster: Cluster;
const made = new Made();
afterEach(() => made.close());

function instance(
  client: ClientName,
  options: HoldfastOptions = {},
  login: ClusterLogin = {},
): Promise<Holdfast> {
  return made.on(openCluster(client, cluster.nodes, login), options);
}

const slotOfLock = (key: string): number => slotOf(`holdfast:{${key}}`);

/** A new key whose lock is on a master. */
function keyOn(master: Server): string {
  const at = cluster.masters.indexOf(master);
  const [from, to] = [at, at + 1].map((n) => Math.floor((n * SLOTS) / cluster.masters.length));
  for (;;) {
    const key = freshKey();
    const slot = slotOfLock(key);
    if (slot >= (from as number) && slot < (to as number)) return key;
  }
}

/** The number of connections of a node with at least one sharded channel. */
async function listeners(node: Server): Promise<number> {
  const list = String(await node.command('CLIENT', 'LIST'));
  return list.split('\n').filter((line) => /\bssub=[1-9]/.test(line)).length;
}

describe.each<ServerName>(['redis', 'valkey'])('a cluster of %s', (name) => {
  beforeAll(async () => {
    cluster = await startCluster({ server: name });
  });
  afterAll(() => cluster.stop());

  describe.each(CLIENTS)('with %s', (client) => {
    it('hands locks of all nodes over by push', async () => {
      const [one, other] = [await instance(client, QUIET), await instance(client, QUIET)];
      await other.ready();
      const keys = cluster.masters.flatMap((master) => [keyOn(master), keyOn(master)]);
      const leases = await Promise.all(keys.map((key) => one.mutex(key).acquire()));
      const waits = keys.map((key) => other.mutex(key).acquire());
      for (const key of keys) await queued(one, key, 1);
      for (const lease of leases) expect(await lease.release()).toBe('freed');
      for (const lease of await Promise.all(waits)) expect(await lease.release()).toBe('freed');
    });

    it('renews leases of all nodes together', async () => {
      // no lease lasts for so long that its channel is told
      const ttl = paced(2000);
      const holdfast = await instance(client, { ...QUIET, ttl });
      const keys = cluster.masters.flatMap((master) =>
        Array.from({ length: 100 }, () => keyOn(master)),
      );
      const leases = await Promise.all(keys.map((key) => holdfast.mutex(key).acquire()));
      const before = await commands();
      await until(() => leases.every(({ remaining }) => remaining < 0.8 * ttl));
      await until(() => leases.every(({ remaining }) => remaining > 0.8 * ttl));
      const calls = (await commands()) - before;
      expect(leases.every(({ held }) => held)).toBe(true);
      // 300 leases on three nodes; the script may be sent with its text at first
      expect(calls).toBeLessThanOrEqual(12);
      await Promise.all(leases.map((lease) => lease.release()));
    });

    const ways =
      name === 'redis' ? (['moveSlot'] as const) : (['moveSlot', 'migrateSlot'] as const);
    it.each(ways)('%s moves a held lock, its waiter and a channel', async (move) => {
      const quiet = { claimWindow: paced(400), ttl: paced(5000), requestTimeout: paced(2000) };
      const [one, other] = [await instance(client, quiet), await instance(client, quiet)];
      const [from, to] = cluster.masters as [Server, Server, Server];
      const key = keyOn(from);
      const lease = await one.mutex(key).acquire();
      const waits = other.mutex(key).acquire();
      await queued(one, key, 1);
      // one of these slots is the slot of the channel at this master
      const slots = [slotOfLock(key), ...(await channelSlots(from))];
      for (const slot of slots) await cluster[move](slot, to);
      await lease.extend(quiet.ttl);
      expect(lease.held).toBe(true);
      const { remaining } = lease;
      await until(() => lease.remaining < 0.9 * remaining);
      // a lost lease ends the wait: it would never be renewed
      await until(() => !lease.held || lease.remaining > 0.9 * remaining);
      expect([lease.state, await lease.release()]).toEqual(['held', 'freed']);
      const next = await waits;
      expect(next.fence).toBeGreaterThan(lease.fence);
      expect(await next.release()).toBe('freed');
      for (const slot of slots) await cluster[move](slot, from);
    });

    it('lists the locks of all nodes', async () => {
      const holdfast = await instance(client);
      const keys = cluster.masters.flatMap((master) =>
        Array.from({ length: 5 }, () => `listed:${keyOn(master)}`),
      );
      await Promise.all(keys.map((key) => holdfast.mutex(key).acquire()));
      const found: LockInfo[] = [];
      for await (const one of holdfast.list('listed:*')) found.push(one);
      expect(new Set(found.map(({ key }) => key))).toEqual(new Set(keys));
      await Promise.all(found.map(({ key }) => holdfast.forceRelease(key)));
    });

    it.each(['a{b}c', '{a}', '{}', '}{', 'a}b', '\\', '\\}', '{', 'ä{ß}', ' ', '{a}b{c}'])(
      'locks the key %j',
      async (key) => {
        const [one, other] = [await instance(client), await instance(client)];
        const lease = await one.mutex(key).acquire();
        const waits = other.mutex(key).acquire();
        await queued(one, key, 1);
        await lease.release();
        expect(await (await waits).release()).toBe('freed');
      },
    );

    it('locks keys of several nodes together', async () => {
      const [one, other] = [await instance(client), await instance(client)];
      const keys = cluster.masters.map(keyOn);
      const all = await one.allOf(keys).acquire();
      const waits = other.allOf(keys).acquire();
      await queued(one, [...keys].sort()[0] as string, 1);
      await all.extend(20_000);
      expect(await all.release()).toBe('freed');
      expect(await (await waits).release()).toBe('freed');
    });

    it('works for the documented user', async () => {
      const { single, cluster: more } = rightsOf(GUIDE);
      for (const node of cluster.nodes) {
        await node.command('ACL', 'SETUSER', 'locks', 'on', '>PASSWORD', ...single, ...more);
      }
      const login = { username: 'locks', password: 'PASSWORD' };
      const [one, other] = [
        await instance(client, QUIET, login),
        await instance(client, QUIET, login),
      ];
      expect((await other.ready()).pushes).toBe(true);
      for (const key of cluster.masters.map(keyOn)) {
        const lease = await one.mutex(key).acquire();
        const waits = other.mutex(key).acquire();
        await queued(one, key, 1);
        await lease.release();
        expect(await (await waits).release()).toBe('freed');
      }
    });

    it('opens its channel at a master that lost the slot of the channel meanwhile', async () => {
      const [from, to] = cluster.masters as [Server, Server, Server];
      const other = await instance(client, QUIET);
      await other.ready();
      // the tag of a channel, and so its slot, depends on the master only
      const slots = await channelSlots(from);
      expect(slots).toHaveLength(1);
      const holdfast = await instance(client, QUIET);
      const key = keyOn(from);
      await (await holdfast.mutex(key).acquire()).release();
      for (const slot of slots) await cluster.moveSlot(slot, to);
      try {
        await holdfast.ready();
        await until(async () => (await listeners(from)) === 2);
        const lease = await other.mutex(key).acquire();
        const waits = holdfast.mutex(key).acquire();
        await queued(other, key, 1);
        await lease.release();
        expect(await (await waits).release()).toBe('freed');
      } finally {
        for (const slot of slots) await cluster.moveSlot(slot, from);
      }
    });

    it('leaves no connection when it is closed', async () => {
      const holdfast = await instance(client);
      await holdfast.ready();
      for (const node of cluster.masters) expect(await listeners(node)).toBe(1);
      await holdfast.close();
      for (const node of cluster.masters) await until(async () => (await listeners(node)) === 0);
    });
  });

  it.each(['ioredis-5', 'ioredis-6'] as const)(
    '%s has one lock for a key with the keyPrefix of redisOptions',
    async (client) => {
      const login = { nodePrefix: 'nodes:' };
      const [one, other] = [
        await instance(client, QUIET, login),
        await instance(client, QUIET, login),
      ];
      const keys = cluster.masters.flatMap((master) => [keyOn(master), keyOn(master)]);
      // the first call is routed, the others go to the node; those of a turn go together
      const leases = [];
      for (const key of keys) leases.push(await one.mutex(key).acquire());
      expect(await Promise.all(keys.map((key) => other.mutex(key).tryAcquire()))).toEqual(
        keys.map(() => null),
      );
      for (const key of keys) expect(await other.mutex(key).tryAcquire()).toBeNull();
      await Promise.all(leases.map((lease) => lease.release()));
      for (const key of keys) expect((await other.mutex(key).tryAcquire())?.held).toBe(true);
    },
  );

  it.each(['ioredis-6', 'node-redis-6'] as const)(
    '%s adds its prefix to all keys',
    async (client) => {
      const options = { ttl: 2400 };
      const holdfast = await instance(client, options, { keyPrefix: `${client}:` });
      const keys = cluster.masters.flatMap((master) => [keyOn(master), keyOn(master)]);
      const leases = await Promise.all(keys.map((key) => holdfast.mutex(key).acquire()));
      await until(() => leases.every(({ remaining }) => remaining < 2000));
      await until(() => leases.every(({ remaining }) => remaining > 2000));
      expect(leases.every(({ held }) => held)).toBe(true);
      const names = await Promise.all(
        cluster.masters.map((one) => one.command('KEYS', `*${client}:*`)),
      );
      expect(names.flat()).toHaveLength(keys.length);
      await Promise.all(leases.map((lease) => lease.release()));
    },
  );

  it('slots are those that the server computes', async () => {
    const unit = fc.constantFrom('{', '}', 'a', 'b', 'ß', '€', ':', '\\');
    const names = fc.sample(fc.string({ unit, maxLength: 12 }), { numRuns: 500, seed: 1 });
    const [node] = cluster.masters as [Server];
    for (const one of names) {
      expect(slotOf(one), one).toBe(await node.command('CLUSTER', 'KEYSLOT', one));
    }
  });

  it('a stopped node delays only its own locks', async () => {
    const [frozen, ...others] = cluster.masters as [Server, ...Server[]];
    const holdfast = await instance('ioredis-6', { ttl: paced(2000), requestTimeout: paced(500) });
    const [lost, ...kept] = await Promise.all(
      [frozen, ...others].map((master) => holdfast.mutex(keyOn(master)).acquire()),
    );
    frozen.pause();
    try {
      await until(() => lost?.held === false);
      expect(kept.every(({ held }) => held)).toBe(true);
      const key = keyOn(others[0] as Server);
      expect(await (await holdfast.mutex(key).acquire()).release()).toBe('freed');
    } finally {
      frozen.resume();
    }
    await cluster.settled();
    await Promise.all(kept.map((lease) => lease.release()));
  });
});

/** The number of script calls of all masters. */
async function commands(): Promise<number> {
  const all = await Promise.all(cluster.masters.map((master) => master.commandstats()));
  const calls = all.map((stats) =>
    ['evalsha', 'eval'].map((one) => stats.get(one)?.calls ?? 0).reduce((a, b) => a + b),
  );
  return calls.reduce((a, b) => a + b, 0);
}

/** The slots of the sharded channels at a master. */
async function channelSlots(master: Server): Promise<number[]> {
  const channels = (await master.command('PUBSUB', 'SHARDCHANNELS')) as string[];
  return channels.map(slotOf);
}
