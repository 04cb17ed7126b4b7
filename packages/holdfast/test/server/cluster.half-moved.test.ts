/**
 * Slots whose move goes on or has stopped: the main record of a lock is at one of two nodes, and
 * its other keys do not exist, so no node executes a call that names all three.
 */
import { type Cluster, type Server, SLOTS, startCluster } from 'holdfast-testkit';
import { Cluster as IoredisCluster } from 'ioredis';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { Holdfast } from '../../src/index.js';
import { slotOf } from '../../src/store/redis/hash-slot.js';
import { type ClientName, Made } from '../support/backends.js';
import { openCluster } from '../support/clusters.js';
import { freshKey } from '../suites/helpers.js';

const NAMES: readonly ClientName[] = ['ioredis-6', 'node-redis-6'];
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
  it.each([
    ['at its former node', false, ''],
    ['at its next node', true, ''],
    ['at its next node, with a keyPrefix', true, 'app:'],
  ])(
    'a lock whose record is %s is acquired, extended and released',
    async (_, moved, keyPrefix) => {
      const opened = await openCluster(name, cluster.nodes, { keyPrefix });
      const holdfast = await made.on(Promise.resolve(opened), TERMS);
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
    const holdfast = await made.on(openCluster(name, cluster.nodes), TERMS);
    const open = async (): Promise<object[]> =>
      (await holdfast.doctor()).findings.filter(({ code }) => code === 'open-slots');
    expect(await open()).toEqual([]);
    const end = await halfMove(93, false);
    const evidence = expect.stringMatching(/^CLUSTER NODES: slot 93 (to|from) \w+$/);
    expect(await open()).toMatchObject([{ evidence }, { evidence }]);
    await end();
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
