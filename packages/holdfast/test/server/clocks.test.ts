/**
 * A lease after a server with another clock has taken over: a promoted replica, and a master of a
 * cluster to which the slot of the lock was moved. Both are ahead by `AHEAD`.
 */
import {
  type ClockShim,
  type Cluster,
  makeClockShim,
  type Replicated,
  type Server,
  SLOTS,
  startCluster,
  startReplicated,
  until,
} from 'holdfast-testkit';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Holdfast, HoldfastOptions, Lease } from '../../src/index.js';
import { slotOf } from '../../src/store/redis/hash-slot.js';
import { type ClientName, Made, openClient } from '../support/backends.js';
import { openCluster } from '../support/clusters.js';
import { untilShown } from '../support/until-shown.js';
import { freshKey } from '../suites/helpers.js';

const AHEAD = 3000;
const TTL = 3000;
const CLIENTS: readonly ClientName[] = ['ioredis-6', 'node-redis-6'];

const made = new Made();
let clock: ClockShim;
beforeAll(async () => {
  const shim = await makeClockShim();
  if (shim === undefined) throw new Error('the clock of a server cannot be set: no C compiler?');
  clock = shim;
  clock.step(AHEAD);
});
afterEach(() => made.close());

/** A lease that is not renewed, and an instance that asks the server whose clock is ahead. */
interface Taken {
  readonly lease: Lease;
  readonly other: Holdfast;
}

type Take = (client: ClientName, options: HoldfastOptions) => Promise<Taken>;

/** `claimWindow` bounds the time in which a waiter polls for the end of the lease. */
const terms = (clockMargin: number): HoldfastOptions => ({
  ...{ ttl: TTL, claimWindow: 300, restartGuard: 0, clockMargin },
});

function judge(take: Take): void {
  it.each(CLIENTS)('%s: one holder with a clockMargin', async (client) => {
    const { lease, other } = await take(client, terms(AHEAD + 500));
    // the server knows the lease
    expect((await other.inspect(lease.key))?.holderCount).toBe(1);
    const next = await other.mutex(lease.key).acquire();
    expect(lease.held).toBe(false);
    expect(next.fence).toBeGreaterThan(lease.fence);
    await next.release();
  });

  it.each(CLIENTS)('%s: two holders without it', async (client) => {
    // on a busy machine, the lease may end before the other server answers
    await untilShown(['two holders'], async () => {
      const { lease, other } = await take(client, terms(0));
      const next = await other.mutex(lease.key).acquire();
      const both = lease.held && next.held;
      expect(next.fence).toBeGreaterThan(lease.fence);
      await next.release();
      await made.close();
      return both ? ['two holders'] : [];
    });
  });
}

describe('a replica whose clock is ahead is promoted', () => {
  let pair: Replicated;
  beforeAll(async () => {
    const envOf = (at: number): ClockShim['env'] => (at === 1 ? clock.env : {});
    pair = await startReplicated({ server: 'valkey', replicas: 1, sentinels: 0, envOf });
  });
  afterAll(() => pair.stop());

  judge(async (client, options) => {
    const [master, replica] = pair.nodes as [Server, Server];
    await replica.command('REPLICAOF', master.host, master.port);
    await until(() => isFollowed(master), { within: 15_000, every: 10 });
    const on = async (server: Server, replicas: number): Promise<Holdfast> =>
      made.on(openClient(client, server), { ...options, replicas });
    const one = await on(master, 1);
    const lease = await one.mutex(freshKey()).acquire({ renew: false });
    await replica.command('REPLICAOF', 'NO', 'ONE');
    return { lease, other: await on(replica, 0) };
  });
});

/** Whether a server has a replica that acknowledges. */
async function isFollowed(server: Server): Promise<boolean> {
  await server.command('SET', 'written', '1');
  return (await server.command('WAIT', 1, 500)) === 1;
}

describe('a slot is moved to a master whose clock is ahead', () => {
  let cluster: Cluster;
  beforeAll(async () => {
    const envOf = (at: number): ClockShim['env'] => (at === 1 ? clock.env : {});
    cluster = await startCluster({ server: 'redis', masters: 2, envOf });
  });
  afterAll(() => cluster.stop());

  const slotFor = (key: string): number => slotOf(`holdfast:{${key}}`);
  /** A new key whose lock is on the first master. */
  const keyOnFirst = (): string => {
    const key = freshKey();
    return slotFor(key) < SLOTS / 2 ? key : keyOnFirst();
  };

  judge(async (client, options) => {
    const on = (): Promise<Holdfast> => made.on(openCluster(client, cluster.nodes), options);
    const [one, other] = [await on(), await on()];
    const lease = await one.mutex(keyOnFirst()).acquire({ renew: false });
    await cluster.moveSlot(slotFor(lease.key), cluster.masters[1] as Server);
    return { lease, other };
  });
});
