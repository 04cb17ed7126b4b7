/** The option `replicas`: a grant counts only when enough replicas have it. */
import {
  type Cluster,
  type Replicated,
  type Server,
  startCluster,
  startReplicated,
  until,
} from 'holdfast-testkit';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { Holdfast, type HoldfastOptions, memory } from '../../src/index.js';
import { CLIENTS, type ClientName, Made, openClient } from '../support/backends.js';
import { openCluster } from '../support/clusters.js';
import { openSentinel } from '../support/sentinels.js';
import { failure, freshKey, queued } from '../suites/helpers.js';

const made = new Made();
afterEach(() => made.close());

const TERMS: HoldfastOptions = { ttl: 20_000, claimWindow: 500, requestTimeout: 1000 };

/** How many times a server received a command since the last call. */
async function calls(server: Server, names: readonly string[]): Promise<number[]> {
  const stats = await server.commandstats();
  await server.command('CONFIG', 'RESETSTAT');
  return names.map((name) => stats.get(name)?.calls ?? 0);
}

describe('a master of valkey with two replicas', () => {
  let deployment: Replicated;
  beforeAll(async () => {
    deployment = await startReplicated({ server: 'valkey', sentinels: 1, downAfter: 60_000 });
  });
  afterAll(() => deployment.stop());

  const open = (client: ClientName, options: HoldfastOptions): Promise<Holdfast> => {
    const [{ host, port }] = deployment.nodes as [Server];
    return made.on(openClient(client, { host, port }), { ...TERMS, ...options });
  };

  it.each(CLIENTS)('%s: grants, waits, renews, extends and releases', async (client) => {
    const [one, other] = [await open(client, { replicas: 2 }), await open(client, { replicas: 2 })];
    const key = freshKey();
    const lease = await one.mutex(key, { ttl: 600 }).acquire();
    const waits = other.mutex(key).acquire();
    await queued(one, key, 1);
    const { fence } = lease;
    await until(() => lease.remaining > 500, { within: 2000 });
    expect(await lease.extend(5000)).toBeGreaterThan(4000);
    await lease.release();
    const next = await waits;
    expect(next.fence).toBeGreaterThan(fence);
    // the confirmation extends a pushed lease to its ttl
    expect(next.remaining).toBeGreaterThan(15_000);
    await next.release();
  });

  it('follows the master under Sentinel', async () => {
    const holdfast = await made.on(openSentinel('node-redis-6', deployment), {
      ...TERMS,
      replicas: 2,
    });
    await holdfast.mutex(freshKey()).run(async () => undefined);
  });

  it('needs one WAIT for all grants of a turn of the event loop', async () => {
    const holdfast = await open('ioredis-6', { replicas: 2 });
    await holdfast.mutex(freshKey()).run(async () => undefined);
    const master = deployment.nodes[0] as Server;
    await calls(master, []);
    const keys = Array.from({ length: 200 }, freshKey);
    const leases = await Promise.all(keys.map((key) => holdfast.mutex(key).acquire()));
    const [scripts, waits] = (await calls(master, ['evalsha', 'wait'])) as [number, number];
    expect(waits).toBeLessThanOrEqual(4);
    expect(scripts).toBeLessThanOrEqual(210);
    await Promise.all(leases.map((lease) => lease.release()));
  });

  it('releases a grant that too few replicas have, and says so', async () => {
    const enough = await open('ioredis-6', { replicas: 2 });
    const three = await open('node-redis-6', { replicas: 3 });
    const key = freshKey();
    const error = await failure(three.mutex(key).acquire(), 'HOLDFAST_UNACKNOWLEDGED');
    expect(error.message).toMatch(/too few replicas have acknowledged: 2 of 3/);
    expect(error.key).toBe(key);
    await until(async () => ((await enough.inspect(key))?.holderCount ?? 0) === 0, {
      within: 5000,
    });
    const lease = await enough.mutex(key).acquire();
    expect(lease.held).toBe(true);
    await lease.release();
  });

  it.each(['ioredis-6', 'node-redis-6'] as const)(
    '%s: leaves the server whose replicas are too few: it may be a former master',
    async (client) => {
      const three = await open(client, { replicas: 3 });
      const master = deployment.nodes[0] as Server;
      const accepted = async (): Promise<number> => {
        const info = String(await master.command('INFO', 'stats'));
        return Number(/total_connections_received:(\d+)/.exec(info)?.[1]);
      };
      await failure(three.mutex(freshKey()).acquire(), 'HOLDFAST_UNACKNOWLEDGED');
      const before = await accepted();
      await failure(three.mutex(freshKey()).acquire(), 'HOLDFAST_UNACKNOWLEDGED');
      expect(await accepted()).toBeGreaterThan(before);
    },
  );

  it('does not hold up other requests while a replica is frozen', async () => {
    const strict = await open('ioredis-6', { replicas: 2 });
    const lease = await strict.mutex(freshKey()).acquire();
    const [, frozen] = deployment.nodes as [Server, Server];
    frozen.pause();
    try {
      const denied = failure(strict.mutex(freshKey()).acquire(), 'HOLDFAST_UNACKNOWLEDGED');
      let over = false;
      void denied.finally(() => {
        over = true;
      });
      expect(await strict.mutex(lease.key).tryAcquire()).toBeNull();
      expect(await lease.release()).toBe('freed');
      expect(over).toBe(false);
      await denied;
    } finally {
      frozen.resume();
    }
  });
});

describe('a cluster of redis with a replica each', () => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await startCluster({ server: 'redis', replicas: 1 });
  });
  afterAll(() => cluster.stop());

  it.each(['ioredis-6', 'node-redis-6'] as const)('%s: acknowledges at each node', async (name) => {
    const holdfast = await made.on(openCluster(name, cluster.nodes), { ...TERMS, replicas: 1 });
    const keys = Array.from({ length: 60 }, freshKey);
    const leases = await Promise.all(keys.map((key) => holdfast.mutex(key).acquire()));
    expect(leases.every(({ held }) => held)).toBe(true);
    await Promise.all(leases.map((lease) => lease.release()));
    for (const master of cluster.masters) await master.command('CONFIG', 'RESETSTAT');
    const again = await Promise.all(keys.map((key) => holdfast.mutex(key).acquire()));
    for (const master of cluster.masters) {
      const stats = await master.commandstats();
      // the acquisitions, their renewal, and perhaps the text of a script
      expect(stats.get('evalsha')?.calls).toBeLessThanOrEqual(4);
      expect(stats.get('wait')?.calls).toBeLessThanOrEqual(2);
    }
    await Promise.all(again.map((lease) => lease.release()));
    const two = await made.on(openCluster(name, cluster.nodes), { ...TERMS, replicas: 2 });
    await failure(two.mutex(freshKey()).acquire(), 'HOLDFAST_UNACKNOWLEDGED');
  });
});

it('refuses the option where there are no replicas, and bad values', () => {
  expect(() => new Holdfast(memory(), { replicas: 1 })).toThrow(/"replicas" must be 0/);
  expect(() => new Holdfast(memory(), { replicas: -1 })).toThrow(/"replicas"/);
  expect(() => new Holdfast(memory(), { replicas: 0 })).not.toThrow();
});
