/**
 * Listeners at the replicas of a cluster: the bus brings them each message, and no master counts
 * them. A waiter that counts as dead must not get the grant, because the next waiter has the lock.
 */
import { Redis } from 'ioredis';
import { type Cluster, type Server, type ServerName, startCluster, until } from 'holdfast-testkit';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Reply } from '../../src/engine/commands.js';
import { Holdfast } from '../../src/index.js';
import { free, send, slotOfKey, storeOn, take } from '../support/cluster-store.js';
import { openCluster } from '../support/clusters.js';
import { openGlideCluster } from '../support/glide.js';
import { later } from '../suites/helpers.js';
import { closeAll } from './clients.support.js';

describe.each<ServerName>(['redis', 'valkey'])('a cluster of %s with replicas', (name) => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await startCluster({ server: name, replicas: 1 });
  });
  afterAll(() => cluster.stop());
  afterEach(closeAll);

  async function replicaOf(slot: number): Promise<Server> {
    const { port } = await cluster.ownerOf(slot);
    for (const node of cluster.nodes) {
      const info = String(await node.command('INFO', 'replication'));
      if (info.includes('role:slave') && info.includes(`master_port:${port}`)) return node;
    }
    throw new Error('no replica');
  }

  it('a listener at a replica hears that there is something, and not the grant', async () => {
    const key = 'heard';
    const { port } = await openCluster('ioredis-6', cluster.nodes);
    const store = storeOn(port);
    const channel = `holdfast:wake:{${key}}`;
    const replica = await replicaOf(slotOfKey(key));
    const listener = new Redis({ host: replica.host, port: replica.port });
    listener.on('error', () => undefined);
    const heard: string[] = [];
    listener.on('smessage', (_: string, text: string) => heard.push(text));
    await listener.readonly();
    await listener.ssubscribe(channel);
    expect(await send(store, [take(key)])).toEqual(['granted']);
    const waits = { queue: true, channel, token: 'secret' };
    expect(await send(store, [take(key, 'b', waits)])).toEqual(['queued']);
    expect(await send(store, [take(key, 'c', { queue: true })])).toEqual(['queued']);
    expect(await send(store, [free(key, 'a')])).toEqual(['freed']);
    // the waiter without a channel has it
    const inspect = { op: 'inspect', key, limit: 9 } as const;
    const [shown] = (await Promise.all(store.execute([inspect]))) as [Reply];
    expect(shown).toMatchObject({ holders: [{ id: 'c' }], waiters: [] });
    await until(() => heard.length > 0);
    expect(new Set(heard)).toEqual(new Set(['']));
    listener.disconnect();
  });

  it('clients that read from replicas have one holder at a time', async () => {
    const opened = await Promise.all(
      Array.from({ length: 4 }, () =>
        openGlideCluster(cluster.nodes, { readFrom: 'preferReplica' }),
      ),
    );
    const all = opened.map(({ client }) => new Holdfast(client));
    let inside = 0;
    const lease = await all[0]?.mutex('read').acquire();
    const ends = all.slice(1).map((one) =>
      later(
        one.mutex('read').run(async () => {
          inside += 1;
          expect(inside).toBe(1);
          await new Promise((resolve) => setTimeout(resolve, 30));
          inside -= 1;
        }),
      ),
    );
    await until(async () => (await all[0]?.inspect('read'))?.waiterCount === 3);
    await lease?.release();
    await Promise.all(ends);
    await Promise.all(all.map((one) => one.close()));
  });
});
