/** Acquisitions and releases of several mutexes with one call for each node of a real cluster. */
import { type Cluster, type Server, type ServerName, SLOTS, until } from 'holdfast-testkit';
import { Cluster as Cluster6 } from 'ioredis';
import { Cluster as Cluster5 } from 'ioredis-5';
import { describe, expect, it } from 'vitest';
import { portFor } from '../../src/store/clients/detect.js';
import type { ClientPort, ClusterView } from '../../src/store/clients/port.js';
import { CLIENTS, type ClientName } from '../support/backends.js';
import {
  each,
  freeAll,
  nameOf,
  send,
  slotOfKey,
  StoresOnCluster,
  storeOn,
  take,
  takeAll,
} from '../support/cluster-store.js';

const NEWEST: readonly ClientName[] = ['ioredis-6', 'node-redis-6'];

describe.each<ServerName>(['redis', 'valkey'])('a cluster of %s', (name) => {
  const on = new StoresOnCluster(name);

  it.each(CLIENTS)('%s: 60 mutexes are taken and released with a call each', async (client) => {
    const store = await on.store(client);
    const keys = on.keys(20);
    await on.resetCalls();
    expect(await takeAll(store, keys)).toEqual(each('granted', keys));
    expect(await on.calls()).toEqual([1, 1, 1]);
    expect(await freeAll(store, keys)).toEqual(each('freed', keys));
    expect(await on.calls()).toEqual([2, 2, 2]);
    expect(await takeAll(store, keys, 'b')).toEqual(each('granted', keys));
    expect(await on.calls()).toEqual([3, 3, 3]);
    expect(await on.notHeld(store, keys)).toEqual([]);
  });

  it.each(NEWEST)('%s: 60 mutexes are shown with a call for each node', async (client) => {
    const store = await on.store(client);
    const keys = on.keys(20);
    expect(await takeAll(store, keys)).toEqual(each('granted', keys));
    const shown = keys.map((key) => ({ op: 'inspect', key, limit: 100 }) as const);
    // the first use of a script sends its text
    await Promise.all(store.execute(shown));
    await on.resetCalls();
    const replies = await Promise.all(store.execute(shown));
    expect(await on.calls()).toEqual([1, 1, 1]);
    for (const reply of replies) expect(reply).toMatchObject({ holderCount: 1, waiterCount: 0 });
  });

  it.each(NEWEST)('%s: a held mutex is in the call of its node', async (client) => {
    const store = await on.store(client);
    const keys = on.keys(3);
    const [held = ''] = keys;
    await send(store, [take(held, 'other')]);
    await on.resetCalls();
    const others = keys.slice(1);
    expect(await takeAll(store, keys)).toEqual(['refused', ...each('granted', others)]);
    expect(await on.calls()).toEqual([1, 1, 1]);
    expect(await freeAll(store, keys)).toEqual(['absent', ...each('freed', others)]);
  });

  it.each(NEWEST)('%s: its prefix is before all names', async (client) => {
    const store = storeOn(await on.port(client, { keyPrefix: 'app:' }));
    const keys = on.keys(5);
    expect(await takeAll(store, keys)).toEqual(each('granted', keys));
    const names = await Promise.all(on.cluster.masters.map((one) => one.command('KEYS', '*')));
    expect(names.flat()).toEqual(expect.arrayContaining(keys.map((key) => `app:${nameOf(key)}`)));
    for (const one of names.flat()) expect(one).toMatch(/^app:s:/);
    expect(await takeAll(store, keys, 'b')).toEqual(each('refused', keys));
    expect(await freeAll(store, keys)).toEqual(each('freed', keys));
  });

  it.each(NEWEST)('%s: a node that does not answer delays no other', async (client) => {
    const store = await on.store(client);
    const [frozen, ...others] = on.cluster.masters as [Server, ...Server[]];
    const silent = on.keysOn(frozen, 5);
    const keys = others.flatMap((master) => on.keysOn(master, 5));
    frozen.pause();
    let answered = false;
    let waits: Promise<unknown>;
    try {
      const replies = store.execute([...silent, ...keys].map((key) => take(key)));
      waits = Promise.all(replies.slice(0, silent.length)).then(() => (answered = true));
      const rest = await Promise.all(replies.slice(silent.length));
      expect(rest.map(({ status }) => status)).toEqual(each('granted', keys));
      expect(answered).toBe(false);
    } finally {
      frozen.resume();
    }
    await waits;
    await on.cluster.settled();
    expect(await on.notHeld(store, [...silent, ...keys])).toEqual([]);
  });

  it.each(NEWEST)('%s: a node that forgot its scripts gets their text', async (client) => {
    const store = await on.store(client);
    const keys = on.keys(5);
    for (const master of on.cluster.masters) await master.command('SCRIPT', 'FLUSH');
    expect(await takeAll(store, keys)).toEqual(each('granted', keys));
    expect(await on.notHeld(store, keys)).toEqual([]);
  });

  it.each(NEWEST)('%s: a user without rights on a key gets an error for it', async (client) => {
    for (const node of on.cluster.masters) {
      await node.command('ACL', 'SETUSER', 'some', 'on', '>pw', 'resetkeys', '~s:{key*', '+@all');
    }
    const store = storeOn(await on.port(client, { username: 'some', password: 'pw' }));
    const keys = on.keys(3);
    const answers = store.execute(['other', ...keys].map((key) => take(key)));
    await expect(answers[0]).rejects.toThrow(/NOPERM/);
    const rest = await Promise.all(answers.slice(1));
    expect(rest.map(({ status }) => status)).toEqual(each('granted', keys));
  });

  it('a cluster that was down has calls for several again', async () => {
    const port = await on.port('node-redis-6');
    const store = storeOn(port);
    await down(on.cluster, async () => {
      for (let round = 0; round < 5; round++) {
        const ends = await Promise.allSettled(store.execute(on.keys(3).map((key) => take(key))));
        expect(new Set(ends.map(({ status }) => status))).toEqual(new Set(['rejected']));
      }
    });
    await on.resetCalls();
    const keys = on.keys(5);
    expect(await takeAll(store, keys)).toEqual(each('granted', keys));
    expect(await on.calls()).toEqual([1, 1, 1]);
  });

  it.each([
    ['ioredis 6', Cluster6],
    ['ioredis 5', Cluster5 as unknown as typeof Cluster6],
  ])('%s: a class of the program that changes the keys gets each call', async (_, Base) => {
    class Tenant extends Base {}
    for (const name of ['evalsha', 'eval'] as const) {
      const value = function (this: Cluster6, text: string, count: number, ...words: string[]) {
        const named = words.map((word, at) => (at < count ? `t:${word}` : word));
        return Reflect.apply(Base.prototype[name], this, [text, count, ...named]);
      };
      Object.defineProperty(Tenant.prototype, name, { value });
    }
    const client = new Tenant(on.cluster.nodes.map(({ host, port }) => ({ host, port })));
    const store = storeOn(portFor(client));
    const keys = on.keys(3);
    for (const id of ['a', 'b', 'c']) {
      expect(await takeAll(store, keys, id)).toEqual(each('granted', keys));
      const names = await Promise.all(on.cluster.masters.map((one) => one.command('KEYS', '*')));
      expect(new Set(names.flat())).toEqual(new Set(keys.map((key) => `t:${nameOf(key)}`)));
      const ids = keys.map(() => id);
      const renewal = { op: 'renewMany', keys, ids, retention: 60_000, ttl: 90_000 } as const;
      expect(await store.execute([renewal])[0]).toMatchObject({ left: keys.map(() => 90_000_000) });
      expect(await freeAll(store, keys, id)).toEqual(each('freed', keys));
    }
    client.disconnect();
  });

  it('list waits for a client that does not know the masters yet', async () => {
    const keys = on.keys(2);
    await takeAll(await on.store('ioredis-6'), keys);
    for (const lazyConnect of [true, false]) {
      const nodes = on.cluster.nodes.map(({ host, port }) => ({ host, port }));
      const client = new Cluster6(nodes, { lazyConnect });
      const found: string[] = [];
      const within = <T>(answer: Promise<T>): Promise<T> => answer;
      for await (const key of storeOn(portFor(client)).keys('*', within)) found.push(key);
      client.disconnect();
      expect(found).toEqual(expect.arrayContaining(keys));
    }
  });

  it.each([
    ['one control', 1, [6, 1, 1, 1, 1]],
    ['three controls', 3, [6, 6, 6, 5, 5]],
  ])('a node that does not refuse %s', async (_, count, expected) => {
    const port = await on.port('ioredis-6');
    const [owner, other] = on.cluster.masters as [Server, Server];
    const own = ownNames(on.cluster.masters).slice(0, count);
    const store = storeOn(seenAt(port, own, other));
    const calls: (number | undefined)[] = [];
    for (let round = 0; round < 5; round++) {
      const keys = on.keysOn(owner, 5);
      await on.resetCalls();
      expect(await takeAll(store, keys)).toEqual(each('granted', keys));
      calls.push((await on.calls())[0]);
      expect(await on.notHeld(store, keys)).toEqual([]);
    }
    expect(calls).toEqual(expected);
  });
});

/** Lets the cluster be down in the view of all nodes, because a slot has no owner. */
async function down(cluster: Cluster, during: () => Promise<void>): Promise<void> {
  const { masters } = cluster;
  const covered = (all: string): Promise<unknown> =>
    Promise.all(
      masters.map((one) => one.command('CONFIG', 'SET', 'cluster-require-full-coverage', all)),
    );
  await covered('yes');
  // a node learns of the slot again from a node that has not forgotten it yet
  const forget = (): Promise<unknown> =>
    Promise.allSettled(masters.map((one) => one.command('CLUSTER', 'DELSLOTS', SLOTS - 1)));
  try {
    const state = async (): Promise<string> =>
      String(await Promise.all(masters.map((one) => one.command('CLUSTER', 'INFO'))));
    await until(async () => {
      await forget();
      return !(await state()).includes('cluster_state:ok');
    });
    await during();
  } finally {
    await covered('no');
    await masters.at(-1)?.command('CLUSTER', 'ADDSLOTS', SLOTS - 1);
    await cluster.settled();
  }
}

/** The first names of controls that are on the first master, and not on another one. */
function ownNames({ length }: readonly Server[]): string[] {
  const names = Array.from({ length: 300 }, (_, number) => `${number}`);
  return names.filter((key) => slotOfKey(key) < Math.floor(SLOTS / length));
}

/**
 * The client takes another node for the owner of the slots of some keys, and does not know those of
 * the other controls before them.
 */
function seenAt(port: ClientPort, keys: readonly string[], other: Server): ClientPort {
  const view = port.cluster as ClusterView;
  const slots = new Set(keys.map(slotOfKey));
  const last = Number(keys.at(-1));
  const hidden = Array.from({ length: last }, (_, number) => slotOfKey(`${number}`));
  const masterOf = (slot: number): string | undefined => {
    if (slots.has(slot)) return `${other.host}:${other.port}`;
    return hidden.includes(slot) ? undefined : view.masterOf(slot);
  };
  return { ...port, cluster: { ...view, masterOf } };
}
