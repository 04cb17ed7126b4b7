/** The adapter of valkey-glide: the contract of clients/port.ts, and what only this client does. */
import { GlideClient, GlideClusterClient } from '@valkey/valkey-glide';
import {
  freePorts,
  paced,
  type Server,
  startCluster,
  startProxy,
  startServer,
  until,
} from 'holdfast-testkit';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { portFor } from '../../src/store/clients/detect.js';
import { Outbox } from '../../src/store/clients/glide-commands.js';
import { slotOf } from '../../src/store/clients/hash-slot.js';
import { Holdfast } from '../../src/index.js';
import { each, freeAll, storeOn, takeAll } from '../support/cluster-store.js';
import { GLIDE, openGlideCluster } from '../support/glide.js';
import { failure } from '../suites/helpers.js';
import { closeAll, type Opened, USERS } from './clients.support.js';

/** A fail-over of a cluster on a busy machine. */
const LONG = { timeout: 120_000 };

afterEach(closeAll);

let server: Server;
beforeAll(async () => {
  server = await startServer({ server: 'valkey', tls: true, users: USERS });
});
afterAll(() => server.stop());

describe('glide', () => {
  const connect = (extra: object = {}): Promise<Opened> =>
    GLIDE.open({ host: server.host, port: server.port, protocol: 3, extra });

  it('is refused together with replicas', async () => {
    const { client } = await connect();
    const make = (): Holdfast => new Holdfast(client, { replicas: 1 });
    expect(make).toThrow(/option "replicas" must be 0 with this store or client, not 1/);
  });

  it('keeps the order of many commands on a key, more than the client allows', async () => {
    const { client, port } = await connect({ inflightRequestsLimit: 600 });
    const push = "return redis.call('RPUSH', KEYS[1], ARGV[1])";
    const sent = Array.from({ length: 2000 }, (_, at) =>
      port.eval(push, [`o${at % 2}`], [`${at}`]),
    );
    await Promise.all(sent);
    for (const [at, key] of ['o0', 'o1'].entries()) {
      const values = (await server.command('LRANGE', key, 0, -1)) as string[];
      expect(values.map(Number)).toEqual(Array.from({ length: 1000 }, (_, n) => 2 * n + at));
    }
    // the client itself changes the order, and refuses too many: the adapter is needed
    const glide = client as GlideClient;
    const raw = Array.from({ length: 500 }, (_, at) =>
      glide.customCommand(['RPUSH', 'raw', `${at}`]),
    );
    await Promise.all(raw);
    const order = ((await server.command('LRANGE', 'raw', 0, -1)) as string[]).map(Number);
    expect(order).not.toEqual(order.toSorted((a, b) => a - b));
    const many = Array.from({ length: 700 }, () => glide.customCommand(['PING']));
    const ends = await Promise.allSettled(many);
    expect(ends.some(({ status }) => status === 'rejected')).toBe(true);
  });

  it('sends a command once whose reply was lost', async () => {
    await using proxy = await startProxy(server);
    const { port } = await GLIDE.open({ host: proxy.host, port: proxy.port, protocol: 3 });
    const source = "return redis.call('INCR', KEYS[1])";
    expect(await port.eval(source, ['n'], [])).toBe(1);
    proxy.dropReply(([name]) => name?.toUpperCase() === 'EVAL');
    const lost = await port.eval(source, ['n'], []).catch((error: unknown) => error);
    expect(port.isReply(lost)).toBe(false);
    expect(await port.eval(source, ['n'], [])).toBe(3);
  });

  it('reports a closed client at once, and a server that is down', async () => {
    const one = await connect({ requestTimeout: paced(200) });
    const holdfast = new Holdfast(one.client, {
      requestTimeout: paced(300),
      unreachableAfter: paced(500),
    });
    await holdfast.mutex('k').run(() => undefined);
    server.pause();
    const silent = await failure(holdfast.mutex('k').tryAcquire(), 'HOLDFAST_UNREACHABLE');
    server.resume();
    expect(silent.message).toContain('did not answer');
    await until(
      async () =>
        (await holdfast
          .mutex('k')
          .tryAcquire()
          .catch(() => null)) !== null,
    );
    await one.close();
    const closed = await failure(holdfast.mutex('k').acquire(), 'HOLDFAST_UNREACHABLE');
    expect(closed.message).toContain('the client is closed: close() was called');
    await holdfast.close({ grace: 0 });
  });

  it('connects with the first command, if the client is lazy', async () => {
    const [port = 0] = await freePorts(1);
    const lazy = { host: server.host, protocol: 3, offline: true } as const;
    const down = await GLIDE.open({ ...lazy, port });
    const holdfast = new Holdfast(down.client, { requestTimeout: 500, unreachableAfter: 500 });
    await failure(holdfast.mutex('k').tryAcquire(), 'HOLDFAST_UNREACHABLE');
    await holdfast.close({ grace: 0 });
    const later = new Holdfast((await GLIDE.open({ ...lazy, port: server.port })).client);
    await later.mutex('lazy').run(() => undefined);
    await later.close();
  });

  it('is refused as a promise', () => {
    const connecting = GlideClient.createClient({ addresses: [server] });
    expect(() => portFor(connecting)).toThrow('Await it first');
    return connecting.then((client) => client.close());
  });
});

describe('a subscription of glide', () => {
  const listener = (): { log: string[] } & Parameters<Opened['port']['subscribe']>[1] => {
    const log: string[] = [];
    return {
      log,
      message: (payload) => void log.push(`:${payload}`),
      up: () => void log.push('up'),
      down: () => void log.push('down'),
    };
  };
  const connect = (extra: object = {}): Promise<Opened> =>
    GLIDE.open({ host: server.host, port: server.port, protocol: 2, extra });
  const subscribers = async (): Promise<number> =>
    ((await server.command('PUBSUB', 'NUMSUB', 'c')) as [string, number])[1];

  it('receives messages of its channel, also with a client of RESP2 and of bytes', async () => {
    const { port } = await connect({ defaultDecoder: 0 });
    const heard = listener();
    const subscription = await port.subscribe('c', heard);
    const payloads = ['g id 1 2', '', 'ä€😀\r\n\0"', 'x'.repeat(100_000)];
    for (const payload of payloads) {
      expect(await server.command('PUBLISH', 'c', payload)).toBe(1);
    }
    await server.command('PUBLISH', 'd', 'other');
    await until(() => heard.log.length === payloads.length);
    expect(heard.log).toEqual(payloads.map((payload) => `:${payload}`));
    await subscription.close();
    expect(await subscribers()).toBe(0);
  });

  it('reports a loss and the confirmation, and a restart of the server', async () => {
    const { port } = await connect();
    const heard = listener();
    const subscription = await port.subscribe('c', heard);
    await server.command('CLIENT', 'KILL', 'TYPE', 'pubsub');
    await until(() => heard.log.includes('up'));
    expect(heard.log).toEqual(['down', 'up']);
    expect(await server.command('PUBLISH', 'c', 'after')).toBe(1);
    await until(() => heard.log.includes(':after'));
    await server.restart();
    await until(() => heard.log.filter((one) => one === 'up').length === 2, { within: 10_000 });
    await until(async () => (await subscribers()) === 1);
    await subscription.close();
    expect(await subscribers()).toBe(0);
  });

  it('rejects if the user may not subscribe', async () => {
    const { port } = await connect({ credentials: { username: 'deaf', password: 's3cret!' } });
    await expect(port.subscribe('c', listener())).rejects.toThrow('did not confirm');
  });
});

describe('glide on a cluster', () => {
  it('knows the masters, and learns that a slot has moved', async () => {
    await using cluster = await startCluster({ server: 'valkey' });
    const one = await openGlideCluster(cluster.nodes);
    expect(one.client).toBeInstanceOf(GlideClusterClient);
    const { port } = one;
    const holdfast = new Holdfast(one.client);
    await holdfast.mutex('a').run(() => undefined);
    const addresses = cluster.masters.map(({ host, port: at }) => `${host}:${at}`);
    expect(port.cluster?.masters().toSorted()).toEqual(addresses.toSorted());
    const slot = Number(await cluster.nodes[0]?.command('CLUSTER', 'KEYSLOT', '{a}'));
    const owner = await cluster.ownerOf(slot);
    expect(port.cluster?.masterOf(slot)).toBe(`${owner.host}:${owner.port}`);
    const lease = await holdfast.mutex('a').acquire();
    const other = cluster.masters.find((master) => master !== owner) as Server;
    await cluster.moveSlot(slot, other);
    await lease.extend(20_000);
    await port.cluster?.refresh('');
    expect(port.cluster?.masterOf(slot)).toBe(`${other.host}:${other.port}`);
    await lease.release();
    const seen: string[] = [];
    const held = await Promise.all(['b', 'c', 'd'].map((key) => holdfast.mutex(key).acquire()));
    for await (const { key } of holdfast.list()) seen.push(key);
    expect(seen.toSorted()).toEqual(['b', 'c', 'd']);
    await Promise.all(held.map((each) => each.release()));
    const { findings, servers } = await holdfast.doctor();
    expect(servers.map(({ address }) => address).toSorted()).toEqual(addresses.toSorted());
    expect(new Set(findings.map(({ code }) => code))).toEqual(new Set(['no-persistence']));
    await holdfast.close();
    await one.close();
  });
});

it('glide on a cluster takes several mutexes with one call for each node', async () => {
  await using cluster = await startCluster({ server: 'valkey' });
  const { port } = await openGlideCluster(cluster.nodes);
  const store = storeOn(port);
  const names = (from: number): string[] => Array.from({ length: 60 }, (_, at) => `k${from + at}`);
  // the first commands read the slots, send the texts and check the nodes
  for (const from of [0, 100]) {
    for (const key of names(from)) await takeAll(store, [key]);
    await freeAll(store, names(from));
    await takeAll(store, names(from));
  }
  for (const master of cluster.masters) await master.command('CONFIG', 'RESETSTAT');
  const keys = names(200);
  expect(await takeAll(store, keys)).toEqual(each('granted', keys));
  for (const master of cluster.masters) {
    expect((await master.commandstats()).get('evalsha')?.calls).toBe(1);
  }
  const [first, second] = cluster.masters as [Server, Server];
  const slot = Number(await first.command('CLUSTER', 'KEYSLOT', 's:{k200}'));
  await cluster.moveSlot(slot, (await cluster.ownerOf(slot)) === first ? second : first);
  expect(await freeAll(store, keys)).toEqual(each('freed', keys));
  expect(await takeAll(store, keys, 'b')).toEqual(each('granted', keys));
  expect(await takeAll(store, keys)).toEqual(each('refused', keys));
});

it('glide on a cluster goes on with the replica of a frozen master', LONG, async () => {
  await using cluster = await startCluster({ server: 'valkey', replicas: 1 });
  const one = await openGlideCluster(cluster.nodes, { requestTimeout: 500 });
  // the nodes vote and the client looks for the new master, each after some seconds
  const terms = { requestTimeout: 500, unreachableAfter: 80_000 };
  const holdfast = new Holdfast(one.client, terms);
  const [master] = cluster.masters as [Server];
  const address = `${master.host}:${master.port}`;
  await holdfast.mutex('any').run(() => undefined);
  const keys = Array.from({ length: 100 }, (_, at) => `k${at}`);
  const key = keys.find((name) => one.port.cluster?.masterOf(slotOf(name)) === address) as string;
  await holdfast.mutex(key).run(() => undefined);
  master.pause();
  await holdfast.mutex(key).run(() => undefined);
  await holdfast.close();
  await one.close();
  master.resume();
});

describe('the outbox', () => {
  it('starts the commands on a key in turn, also after a failure', async () => {
    const outbox = new Outbox(500);
    const log: string[] = [];
    const later = async (name: string): Promise<string> => {
      log.push(`${name} starts`);
      await Promise.resolve();
      log.push(`${name} ends`);
      if (name === 'a1') throw new Error(name);
      return name;
    };
    const all = [
      outbox.add(['a'], () => later('a1')),
      outbox.add(['a'], () => later('a2')),
      outbox.add(['b'], () => later('b1')),
    ];
    const ends = await Promise.allSettled(all);
    expect(ends.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled']);
    expect(log.indexOf('a2 starts')).toBeGreaterThan(log.indexOf('a1 ends'));
    expect(log.indexOf('b1 starts')).toBeLessThan(log.indexOf('a1 ends'));
    expect(await outbox.add(['a'], () => later('a3'))).toBe('a3');
  });

  it('sends a command with several keys after the earlier ones of each', async () => {
    const outbox = new Outbox(500);
    const order: string[] = [];
    const ends = new Map<string, () => void>();
    const add = (name: string, ...keys: string[]): Promise<void> =>
      outbox.add(keys, () => {
        order.push(name);
        return new Promise((resolve) => ends.set(name, resolve));
      });
    const end = async (name: string): Promise<void> => {
      ends.get(name)?.();
      await new Promise(setImmediate);
    };
    const all = [add('1', 'a'), add('2', 'b'), add('3', 'a', 'b', 'c'), add('4', 'c'), add('5')];
    expect(order).toEqual(['1', '2', '5']);
    await end('2');
    expect(order).toEqual(['1', '2', '5']);
    await end('1');
    expect(order).toEqual(['1', '2', '5', '3']);
    await end('3');
    expect(order).toEqual(['1', '2', '5', '3', '4']);
    for (const name of ['4', '5']) await end(name);
    await Promise.all(all);
  });
});
