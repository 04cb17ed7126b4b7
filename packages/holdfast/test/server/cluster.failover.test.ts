/** A cluster whose masters are replaced by their replicas while locks are held and waited for. */
import {
  type Cluster,
  type Server,
  type ServerName,
  SLOTS,
  startCluster,
  until,
} from 'holdfast-testkit';
import { afterEach, describe, expect, it } from 'vitest';
import type { Holdfast, HoldfastOptions } from '../../src/index.js';
import { slotOf } from '../../src/store/redis/slots.js';
import { CLIENTS, type ClientName, Made } from '../support/backends.js';
import { openCluster } from '../support/clusters.js';
import { freshKey, queued } from '../suites/helpers.js';

const made = new Made();
afterEach(() => made.close());

const TERMS: HoldfastOptions = { ttl: 20_000, claimWindow: 500, requestTimeout: 1000 };

/** A new key of the first master. */
function keyOnFirst(cluster: Cluster): string {
  for (;;) {
    const key = freshKey();
    if (slotOf(`holdfast:{${key}}`) < Math.floor(SLOTS / cluster.masters.length)) return key;
  }
}

/** Waits until a replica has everything that its master has written. */
async function replicated(master: Server): Promise<void> {
  const offsets = async (): Promise<boolean> => {
    const info = String(await master.command('INFO', 'replication'));
    const own = /master_repl_offset:(\d+)/.exec(info)?.[1];
    return new RegExp(`slave0:.*offset=${own},`).test(info);
  };
  await until(offsets, { within: 10_000 });
}

/** The node that became master in place of another one. */
async function successor(cluster: Cluster, key: string, before: Server): Promise<Server> {
  const slot = slotOf(`holdfast:{${key}}`);
  return until(
    async () => {
      const others = cluster.nodes.filter((node) => node !== before);
      for (const node of others) {
        const role = String(await node.command('INFO', 'replication'));
        const id = String(await node.command('CLUSTER', 'MYID'));
        const nodes = String(await node.command('CLUSTER', 'NODES'));
        const own = nodes.split('\n').find((line) => line.startsWith(id)) ?? '';
        const owns = own
          .split(' ')
          .slice(8)
          .some((range) => {
            const [from, to = from] = range.split('-').map(Number);
            return slot >= (from as number) && slot <= (to as number);
          });
        if (role.includes('role:master') && owns) return node;
      }
      return undefined;
    },
    { within: 20_000, every: 50 },
  );
}

type Fault = 'killed' | 'frozen';

describe.each<ServerName>(['redis', 'valkey'])('a cluster of %s whose master is', (name) => {
  it.each(
    CLIENTS.flatMap((client) =>
      (['killed', 'frozen'] as const).map((fault): [Fault, ClientName] => [fault, client]),
    ),
  )('%s, with %s: the next waiter is served, with a higher fence', async (fault, client) => {
    await using cluster = await startCluster({ server: name, replicas: 1 });
    const instance = (): Promise<Holdfast> => made.on(openCluster(client, cluster.nodes), TERMS);
    const [one, other] = [await instance(), await instance()];
    await other.ready();
    const [master] = cluster.masters as [Server];
    const key = keyOnFirst(cluster);
    const lease = await one.mutex(key).acquire();
    const waits = other.mutex(key).acquire();
    await queued(one, key, 1);
    await replicated(master);
    if (fault === 'killed') await master.kill();
    else master.pause();
    const next = await successor(cluster, key, master);
    expect(await lease.release()).toBe('freed');
    const granted = await waits;
    expect(granted.fence).toBeGreaterThan(lease.fence);
    // the channel at the new master opens without a new waiter
    await until(async () => {
      const list = String(await next.command('CLIENT', 'LIST'));
      return list.split('\n').some((line) => /\bssub=[1-9]/.test(line));
    });
    expect(await granted.release()).toBe('freed');
    if (fault === 'frozen') master.resume();
    await made.close();
  });
});
