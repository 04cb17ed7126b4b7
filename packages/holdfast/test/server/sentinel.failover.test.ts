/** A master under Sentinel that is replaced while locks are held and waited for. */
import {
  paced,
  type Proxy,
  type Replicated,
  type Server,
  type ServerName,
  startProxy,
  startReplicated,
  until,
} from 'holdfast-testkit';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { Holdfast, HoldfastOptions, Lease } from '../../src/index.js';
import { CLIENTS, type ClientName, Made } from '../support/backends.js';
import { clientList } from '../support/client-list.js';
import { openSentinel, type SentinelLogin } from '../support/sentinels.js';
import { freshKey, queued } from '../suites/helpers.js';
import type { Opened } from './clients.support.js';

const made = new Made();
afterEach(() => made.close());

const TERMS: HoldfastOptions = {
  ...{ ttl: 60_000, claimWindow: paced(1000), requestTimeout: paced(1000) },
  // the sentinels may fail to agree for several rounds
  unreachableAfter: 60_000,
};

interface Pair {
  readonly holder: Holdfast;
  readonly waiter: Holdfast;
  readonly lease: Lease;
  readonly other: Lease;
  readonly waits: Promise<Lease>;
}

/** Two locks that one process holds; another one waits for the first of them. */
async function pair(all: Replicated, client: ClientName): Promise<Pair> {
  const instance = (): Promise<Holdfast> => made.on(openSentinel(client, all), TERMS);
  const [holder, waiter] = [await instance(), await instance()];
  const key = freshKey();
  const lease = await holder.mutex(key).acquire();
  const other = await holder.mutex(`${key} too`).acquire();
  const waits = waiter.mutex(key).acquire();
  await queued(holder, key, 1);
  return { holder, waiter, lease, other, waits };
}

/**
 * The connections that clients of this test use at a server. node-redis forgets some of its own,
 * see `forgotten-socket.test.ts`: they have sent nothing but their handshake. The name of its last
 * command is missing at servers that do not know that command.
 */
async function connections(server: Server): Promise<string[]> {
  const others = / name=sentinel-| flags=[SMx]| cmd=(client|NULL)/;
  return (await clientList(server)).filter((line) => !others.test(line));
}

/** Waits until no client of this test is connected to a server. */
async function disconnected(server: Server, within: number): Promise<void> {
  const none = async (): Promise<boolean> => {
    expect(await connections(server)).toEqual([]);
    return true;
  };
  await until(none, { within, what: 'no client is connected' });
}

/** Every replica has what the master has written. */
async function replicated(deployment: Replicated): Promise<void> {
  const master = await deployment.master();
  const key = freshKey();
  await master.command('SET', key, 'written', 'PX', 60_000);
  for (const node of deployment.nodes) {
    const copied = async (): Promise<boolean> => (await node.command('EXISTS', key)) === 1;
    await until(copied, { within: 10_000 });
  }
}

const FAULTS: Readonly<Record<string, (master: Server, all: Replicated) => unknown>> = {
  killed: (master) => master.kill(),
  frozen: (master) => master.pause(),
  replaced: (_, { sentinels, name }) => sentinels[0]?.command('SENTINEL', 'FAILOVER', name),
};

const REPAIRS: Readonly<Record<string, (master: Server) => unknown>> = {
  killed: (master) => master.restart(),
  frozen: (master) => master.resume(),
  replaced: () => undefined,
};

describe.each<ServerName>(['redis', 'valkey'])('a master of %s', (name) => {
  let deployment: Replicated;
  beforeAll(async () => {
    deployment = await startReplicated({ server: name });
  });
  afterAll(() => deployment.stop());

  // each server has a part of the faults: a fail-over takes seconds
  const faults = name === 'redis' ? ['killed', 'replaced'] : ['frozen'];
  const title = 'that is %s: waiters are served, leases extended, fences grow';
  it.each(faults)(title, { timeout: paced(120_000) }, async (fault) => {
    const before = await deployment.master();
    const pairs = await Promise.all(CLIENTS.map((client) => pair(deployment, client)));
    await replicated(deployment);
    await FAULTS[fault]?.(before, deployment);
    // a test that fails must not leave them unobserved
    for (const { waits } of pairs) waits.catch(() => undefined);
    const stop = new AbortController();
    onTestFinished(() => stop.abort());
    // all of them send commands: an idle client may stay where a sentinel sent it
    const all = pairs.flatMap(({ holder, waiter }) => [holder, waiter]);
    const busy = all.map((one) => outcomes(one, stop.signal));
    await deployment.successor(before);
    for (const { lease, other } of pairs) {
      expect([lease.held, other.held]).toEqual([true, true]);
      await until(() => other.extend(70_000).catch(() => false), { within: 15_000 });
      const released = await lease.release().catch((error: unknown) => error);
      if (released !== 'freed') expect(released).toMatchObject({ code: 'HOLDFAST_UNCERTAIN' });
    }
    for (const { lease, other, waits } of pairs) {
      const granted = await waits;
      expect(granted.fence).toBeGreaterThan(Math.max(lease.fence, other.fence));
      expect(await granted.release()).toBe('freed');
    }
    await REPAIRS[fault]?.(before);
    // its clients are disconnected when it becomes a replica; one that a sentinel sends there again
    // leaves with its next command, or when its wake connection is idle for long
    await disconnected(before, 45_000);
    stop.abort();
    for (const seen of await Promise.all(busy)) {
      // a lock whose release was lost is free only after its ttl
      const fine = ['granted', 'HOLDFAST_UNREACHABLE', 'HOLDFAST_TIMEOUT'];
      expect([...seen].filter((one) => !fine.includes(one))).toEqual([]);
    }
    await made.close();
    await disconnected(await deployment.master(), 5000);
    await deployment.settled();
  });
});

/** How acquisitions end during a fail-over: READONLY must not be a refusal. */
async function outcomes(holdfast: Holdfast, stop: AbortSignal): Promise<Set<string>> {
  const seen = new Set<string>();
  const key = freshKey();
  while (!stop.aborted && !seen.has('HOLDFAST_CLOSED')) {
    const lease = await holdfast
      .mutex(key)
      .acquire({ wait: 300 })
      .catch((error: { code: string }) => void seen.add(error.code));
    if (lease !== undefined) seen.add('granted');
    await lease?.release().catch(() => undefined);
    // a closed client rejects at once: without a pause, nothing else would run
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return seen;
}

it('a client of node-redis with a time limit leaves a silent master', {
  timeout: paced(60_000),
}, async () => {
  await using deployment = await startReplicated({ server: 'valkey' });
  const { nodes, sentinels } = deployment;
  const before = await deployment.master();
  const proxies = await Promise.all(nodes.map((node) => startProxy(node)));
  onTestFinished(async () => void (await Promise.all(proxies.map((proxy) => proxy.close()))));
  const proxyOf = (address: string): Proxy | undefined =>
    proxies[nodes.findIndex(({ host, port }) => `${host}:${port}` === address)];
  const map = (address: string): { host: string; port: number } | undefined => {
    const proxy = proxyOf(address);
    return proxy && { host: proxy.host, port: proxy.port };
  };
  const open = (login: SentinelLogin): Promise<Opened> =>
    openSentinel('node-redis-6', deployment, { map, ...login });
  const limited = await made.on(open({ socketTimeout: 2000 }), TERMS);
  const hanging = await open({});
  const unlimited = await made.on(Promise.resolve(hanging), { ...TERMS, unreachableAfter: 2000 });
  const key = freshKey();
  for (const one of [limited, unlimited]) await one.mutex(key).run(async () => undefined);
  const silent = proxyOf(`${before.host}:${before.port}`) as Proxy;
  silent.blackhole();
  silent.cut();
  // a client whose sentinel is lost looks for the master, which no sentinel takes for down yet
  for (const one of sentinels) await one.command('CLIENT', 'KILL', 'TYPE', 'pubsub');
  await until(() => !(hanging.client as unknown as { isReady: boolean }).isReady);
  before.pause();
  await deployment.successor(before);
  await limited.mutex(key).run(async () => undefined);
  const refused = await unlimited
    .mutex(key)
    .acquire()
    .catch((error: unknown) => error);
  expect(refused).toMatchObject({ code: 'HOLDFAST_UNREACHABLE' });
  expect(String(refused)).toContain('socketTimeout: 5000');
  before.resume();
  silent.heal();
  const again = (): Promise<boolean> => unlimited.mutex(key).run(async () => true);
  await until(again, { within: 20_000 });
  await made.close();
});

it('leaves no listener at the client', async () => {
  await using deployment = await startReplicated({ server: 'valkey', downAfter: 60_000 });
  for (const client of CLIENTS) {
    const opened: Opened = await openSentinel(client, deployment);
    const emitter = opened.client as unknown as { listenerCount(event: string): number };
    const count = (): number => emitter.listenerCount('topology-change');
    const holdfast = await made.on(Promise.resolve(opened), TERMS);
    // the first command adds one for the life of the client
    await holdfast.mutex(freshKey()).run(async () => undefined);
    const before = count();
    await holdfast.warmUp();
    expect(count() - before).toBe(client.startsWith('node') ? 1 : 0);
    await holdfast.close();
    expect(count()).toBe(before);
  }
});
