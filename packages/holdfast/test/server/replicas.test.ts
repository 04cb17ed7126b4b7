/** The option `replicas`: a grant counts only when enough replicas have it. */
import {
  type Cluster,
  paced,
  type Replicated,
  type Server,
  startCluster,
  startReplicated,
  until,
} from 'holdfast-testkit';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import {
  Holdfast,
  type HoldfastError,
  type HoldfastOptions,
  type Lease,
  memory,
  type RwLease,
} from '../../src/index.js';
import { type Clock, systemClock } from '../../src/base/clock.js';
import { adopt, handOver } from '../../src/handover.js';
import { CLIENTS, type ClientName, Made, openClient } from '../support/backends.js';
import { openCluster } from '../support/clusters.js';
import { openSentinel } from '../support/sentinels.js';
import { untilShown } from '../support/until-shown.js';
import { failure, freshKey, queued } from '../suites/helpers.js';

const made = new Made();
afterEach(() => made.close());

// the servers of these tests start a moment before
const TERMS: HoldfastOptions = {
  ...{ ttl: 20_000, claimWindow: 500, requestTimeout: paced(1000) },
  restartGuard: 0,
};

/** How many times a server received a command since the last call. */
async function calls(server: Server, names: readonly string[]): Promise<number[]> {
  const stats = await server.commandstats();
  await server.command('CONFIG', 'RESETSTAT');
  return names.map((name) => stats.get(name)?.calls ?? 0);
}

/** A master with one replica that acknowledges. */
async function startPair(): Promise<Replicated> {
  const pair = await startReplicated({ server: 'redis', replicas: 1, sentinels: 0 });
  await isFollowed(pair.nodes[0] as Server);
  return pair;
}

/** Waits until a server has a replica that acknowledges. */
async function isFollowed(server: Server): Promise<void> {
  await until(
    async () => {
      await server.command('SET', 'written', '1');
      return (await server.command('WAIT', 1, 500)) === 1;
    },
    { within: 15_000, every: 10 },
  );
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
    const lease = await one.mutex(key, { ttl: 2400 }).acquire();
    const waits = other.mutex(key).acquire();
    await queued(one, key, 1);
    const { fence } = lease;
    await until(() => lease.remaining > 2000, { within: 5000 });
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
    // the first use tests for one server
    for (let round = 0; round < 2; round++) {
      const use = (): Promise<void> => holdfast.mutex(freshKey()).run(async () => undefined);
      await Promise.all([use(), use()]);
    }
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

it.each(['ioredis-6', 'node-redis-6'] as const)(
  '%s: opens the connection again that the server has closed',
  async (client) => {
    await using deployment = await startPair();
    const [{ host, port }] = deployment.nodes as [Server];
    const holdfast = await made.on(openClient(client, { host, port }), { ...TERMS, replicas: 1 });
    await holdfast.mutex(freshKey()).run(async () => undefined);
    const [master] = deployment.nodes as [Server];
    const waited = async (): Promise<string | undefined> => {
      const list = String(await master.command('CLIENT', 'LIST'));
      return list.split('\n').find((line) => line.includes(' cmd=wait '));
    };
    const id = /^id=(\d+)/.exec((await waited()) ?? '')?.[1] as string;
    // as the server does after `timeout` seconds without a command
    expect(await master.command('CLIENT', 'KILL', 'ID', id)).toBe(1);
    await until(async () => (await waited()) === undefined);
    // the process has read what the server sent before this reply
    await holdfast.inspect(freshKey());
    const lease = await holdfast.mutex(freshKey()).tryAcquire();
    expect(lease?.held).toBe(true);
    await lease?.release();
  },
);

describe('a master that starts again before a fail-over', () => {
  const TTL = 3000;
  interface Loss {
    readonly save: (master: Server) => Promise<void>;
    readonly promote: boolean;
    readonly ttl?: number;
  }
  const SAVING = {
    'without a snapshot': async () => undefined,
    'with an older snapshot': async (master: Server) => void (await master.command('SAVE')),
  };
  /** A deployment with a lease that its holder does not renew, and a master that has lost it. */
  const forgotten = async (
    options: HoldfastOptions,
    { save, promote, ttl = TTL }: Loss,
  ): Promise<{ lease: Lease; other: Holdfast; [Symbol.asyncDispose](): Promise<void> }> => {
    const deployment = await startPair();
    const [master, replica] = deployment.nodes as [Server, Server];
    const on = async ({ host, port }: Server): Promise<Holdfast> =>
      made.on(openClient('ioredis-6', { host, port }), { ...TERMS, replicas: 1, ...options });
    const one = await on(master);
    // the marker is in the snapshot
    await one.mutex('earlier', { ttl }).run(async () => undefined);
    await save(master);
    const lease = await one.mutex('key', { ttl, renew: false }).acquire();
    await master.kill();
    await master.restart();
    const linked = async (): Promise<boolean> => {
      const info = String(await replica.command('INFO', 'replication'));
      return info.includes('master_link_status:up\r') && !(await replica.command('EXISTS', NAME));
    };
    await until(linked, { within: 10_000, every: 10 });
    if (promote) {
      await replica.command('REPLICAOF', 'NO', 'ONE');
      await master.command('REPLICAOF', replica.host, replica.port);
    }
    await isFollowed(promote ? replica : master);
    const other = await on(promote ? replica : master);
    return { lease, other, [Symbol.asyncDispose]: () => deployment.stop() };
  };
  const NAME = 'holdfast:{key}';

  describe.each([false, true])('and a replica takes over: %s', (promote) => {
    it.each(Object.entries(SAVING))('%s: grants nothing twice', async (_, save) => {
      await using lost = await forgotten({ restartGuard: undefined }, { save, promote });
      const next = await lost.other.mutex('key', { ttl: TTL }).acquire();
      expect(lost.lease.held).toBe(false);
      expect(next.held).toBe(true);
      await next.release();
    });
  });

  it('gives a reader no write lock before grants count again', async () => {
    await using deployment = await startPair();
    const [{ host, port }] = deployment.nodes as [Server];
    const on = (restartGuard: number): Promise<Holdfast> => {
      const options = { ...TERMS, replicas: 1, restartGuard };
      return made.on(openClient('ioredis-6', { host, port }), options);
    };
    const [one, other] = [await on(0), await on(3_600_000)];
    const lock = one.rwLock('key');
    const lease = await adopt<RwLease>(other, handOver(one, await lock.read.acquire()));
    const error = await failure(lease.tryUpgrade(), 'HOLDFAST_UNCERTAIN');
    expect(String(error.cause)).toMatch(/may have lost its memory/);
    expect(lease.mode).toBe('read');
    expect((await lock.read.tryAcquire())?.held).toBe(true);
  });

  it('says when grants count again', async () => {
    await using deployment = await startPair();
    const [{ host, port }] = deployment.nodes as [Server];
    const options = { ...TERMS, replicas: 1, restartGuard: 3_600_000 };
    const holdfast = await made.on(openClient('ioredis-6', { host, port }), options);
    const error = await failure(holdfast.mutex('key').tryAcquire(), 'HOLDFAST_UNREACHABLE');
    expect(error.message).toMatch(
      /may have lost its memory.*count again in 3\d\d\d s.*restartGuard/,
    );
  });

  it.each(Object.entries(SAVING))('%s: would grant it twice without the guard', async (_, save) => {
    // the holder checks its lease after a claim window, and would learn that it is lost
    const late = { restartGuard: 0, claimWindow: 60_000, retention: 180_000 };
    // a busy process may ask about it too
    await untilShown(['two holders'], async () => {
      await using lost = await forgotten(late, { save, promote: true, ttl: 60_000 });
      // on a busy machine its replica may acknowledge too late
      const next = await lost.other
        .mutex('key')
        .acquire()
        .catch((error: HoldfastError) => {
          if (error.code !== 'HOLDFAST_UNACKNOWLEDGED') throw error;
        });
      return lost.lease.held && next?.held === true ? ['two holders'] : [];
    });
  });
});

it('a doubt does not lead to belief in a renewal that no replica has', async () => {
  await using deployment = await startPair();
  const [{ host, port }, replica] = deployment.nodes as [Server, Server];
  let step = 0;
  const clock: Clock = { ...systemClock, wall: () => systemClock.wall() + step };
  const options = { ...TERMS, replicas: 1, clock };
  const one = await made.on(openClient('ioredis-6', { host, port }), options);
  const lease = await one.mutex('key', { renew: false }).acquire();
  await replica.command('REPLICAOF', 'NO', 'ONE');
  await failure(lease.extend(90_000), 'HOLDFAST_UNCERTAIN');
  step = 5000;
  await lease.verify().catch(() => false);
  expect(lease.remaining).toBeLessThan(20_000);
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
