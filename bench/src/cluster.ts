/**
 * Scenario r: a cluster of three masters beside one server, in turns of one run.
 *
 *   npm run build && node bench/dist/cluster.js [--rounds 9] [--server redis]
 *
 * A pair is one acquisition of a free lock and its release. The ratios are medians of those of the
 * rounds: the time of all scripts on the servers, and the CPU time of the client's process. `bare`
 * is a pair of SET and DEL of the same client: what the cluster client itself costs. `apart` is the
 * same locks on three servers that are no cluster, with a client for each: what three servers cost.
 * `one node` is the cluster with locks of one of its nodes only: what the cluster itself costs,
 * without the change between servers. `between` is one server that is no cluster, with two bare
 * pairs at two other servers after each pair of its own: what the change between servers costs.
 *
 * At the end, the commands that renew 5,000 leases on the cluster.
 */
import { parseArgs } from 'node:util';
import { Holdfast, type Lease, type RedisClient } from 'holdfast';
import {
  percentile,
  type Server,
  type ServerName,
  SLOTS,
  startCluster,
  startServer,
  until,
} from 'holdfast-testkit';
import { Cluster, Redis } from 'ioredis';
import { createClient, createCluster } from 'redis';

const KEYS = 1000;
const PAIRS = 3000;
/** Pairs at the same time. */
const AT_ONCE = [1, 50, 150, 1000];

/** A deployment with one client. */
interface Contender {
  readonly servers: readonly Server[];
  readonly pair: (key: string) => Promise<unknown>;
  readonly close: () => unknown;
  /** Other keys than the usual ones. */
  readonly keys?: readonly string[];
}

interface Reading {
  /** µs of a pair. */
  readonly script: number;
  readonly cpu: number;
}

const COMMANDS = ['evalsha', 'set', 'del'] as const;

async function read({ servers, pair, keys }: Contender, atOnce: number): Promise<Reading> {
  let at = 0;
  const next = (): Promise<unknown> => {
    const number = at++ % KEYS;
    return pair(keys?.[number] ?? `key ${number}`);
  };
  for (let index = 0; index < KEYS; index++) await next();
  for (const server of servers) await server.command('CONFIG', 'RESETSTAT');
  const before = process.cpuUsage();
  for (let done = 0; done < PAIRS; done += atOnce) {
    await Promise.all(Array.from({ length: atOnce }, next));
  }
  const { user, system } = process.cpuUsage(before);
  let script = 0;
  for (const server of servers) {
    const stats = await server.commandstats();
    for (const name of COMMANDS) script += stats.get(name)?.usec ?? 0;
  }
  return { script: script / PAIRS, cpu: (user + system) / PAIRS };
}

type Opened = readonly [servers: readonly Server[], client: unknown];

/** The locks and the bare commands of one client. */
function contenders([servers, client]: Opened): [Contender, Contender] {
  const holdfast = new Holdfast(client as RedisClient);
  const plain = client as {
    set(key: string, value: string): Promise<unknown>;
    del(key: string): Promise<unknown>;
    disconnect?(): unknown;
    destroy?(): unknown;
  };
  const close = (): unknown => (plain.destroy ? plain.destroy() : plain.disconnect?.());
  const lock = (key: string): Promise<unknown> => holdfast.mutex(key).run(async () => undefined);
  const bare = async (key: string): Promise<void> => {
    await plain.set(key, 'value');
    await plain.del(key);
  };
  return [
    { servers, pair: lock, close: async () => [await holdfast.close(), close()] },
    { servers, pair: bare, close: () => undefined },
  ];
}

const median = (values: number[]): number => percentile(values, 50);

/** The same locks on servers that are no cluster, each with a client of its own. */
function apart(all: readonly Opened[]): Contender {
  const holdfasts = all.map(([, client]) => new Holdfast(client as RedisClient));
  let next = 0;
  return {
    servers: all.flatMap(([servers]) => servers),
    pair: (key) => {
      next = (next + 1) % holdfasts.length;
      return (holdfasts[next] as Holdfast).mutex(key).run(async () => undefined);
    },
    close: () => Promise.all(holdfasts.map((one) => one.close())),
  };
}

/** Keys whose locks are on the first master of a cluster. */
async function keysOfFirst([first]: readonly Server[]): Promise<string[]> {
  const keys: string[] = [];
  for (let number = 0; keys.length < KEYS; number++) {
    const slot = await first?.command('CLUSTER', 'KEYSLOT', `holdfast:{key ${number}}`);
    if (Number(slot) < Math.floor(SLOTS / 3)) keys.push(`key ${number}`);
  }
  return keys;
}

interface Compared {
  readonly rounds: number;
  readonly one: Opened;
  readonly three: Opened;
  readonly singles: readonly Opened[];
}

async function compare(name: string, { rounds, one, three, singles }: Compared): Promise<void> {
  const [single, bare] = contenders(one);
  const [cluster, bareCluster] = contenders(three);
  const several = apart(singles);
  const node: Contender = { ...cluster, keys: await keysOfFirst(three[0]) };
  const others = singles.slice(1).map((each) => contenders(each)[1]);
  const between: Contender = {
    ...single,
    pair: async (key) => {
      await single.pair(key);
      for (const other of others) await other.pair(key);
    },
  };
  for (const atOnce of AT_ONCE) {
    const found: Reading[][] = [];
    for (let round = 0; round < rounds; round++) {
      const readings: Reading[] = [];
      for (const each of [single, cluster, several, bare, bareCluster, node, between]) {
        readings.push(await read(each, atOnce));
      }
      found.push(readings);
    }
    const ratio = (field: keyof Reading, a: number, b: number): string =>
      median(found.map((all) => (all[b] as Reading)[field] / (all[a] as Reading)[field])).toFixed(
        2,
      );
    const both = (a: number, b: number): string =>
      `script time × ${ratio('script', a, b)}, CPU × ${ratio('cpu', a, b)}`;
    const micros = (field: keyof Reading): string =>
      median(found.map(([a]) => (a as Reading)[field])).toFixed(1);
    console.log(`${name}, ${atOnce} at once: cluster ${both(0, 1)}; apart ${both(0, 2)}`);
    console.log(`  bare cluster ${both(3, 4)}; cluster beside apart ${both(2, 1)}`);
    console.log(`  one node ${both(0, 5)}; between: script time × ${ratio('script', 0, 6)}`);
    console.log(`  one server: ${micros('script')} and ${micros('cpu')} µs a pair`);
  }
  await cluster.close();
  await several.close();
  await single.close();
}

const LEASES = 5000;
const TTL = 20_000;

/** The commands for one renewal of all leases. */
async function renewals(name: string, [servers, client]: Opened): Promise<void> {
  const holdfast = new Holdfast(client as RedisClient, { ttl: TTL });
  const keys = Array.from({ length: LEASES }, (_, at) => `renewed ${at}`);
  const leases: Lease[] = [];
  for (let from = 0; from < LEASES; from += 100) {
    const part = keys.slice(from, from + 100).map((key) => holdfast.mutex(key).acquire());
    leases.push(...(await Promise.all(part)));
  }
  for (const server of servers) await server.command('CONFIG', 'RESETSTAT');
  const endOf = ({ remaining }: Lease): number => performance.now() + remaining;
  const ends = leases.map(endOf);
  const renewed = (): boolean =>
    leases.every((lease, at) => !lease.held || endOf(lease) > (ends[at] as number) + TTL / 10);
  await until(renewed, { within: 3 * TTL, every: 50, what: 'each lease was renewed' });
  const counts = await Promise.all(
    servers.map(async (server) => {
      const stats = await server.commandstats();
      const calls = ['evalsha', 'eval'].map((one) => stats.get(one)?.calls ?? 0);
      const held = Number(await server.command('DBSIZE'));
      return { calls: calls.reduce((sum, each) => sum + each, 0), held };
    }),
  );
  const each = counts.map(({ calls, held }) => `${calls} for ${held} (${per100(calls, held)})`);
  const lost = leases.filter(({ held }) => !held).length;
  console.log(`${name}, renewals of ${LEASES} leases, commands at each node: ${each.join(', ')}`);
  console.log(`  lost: ${lost}; the number in brackets is for 100 leases`);
  await holdfast.close();
}

const per100 = (calls: number, held: number): string => ((100 * calls) / held).toFixed(2);

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      rounds: { type: 'string', default: '9' },
      server: { type: 'string', default: 'redis' },
    },
  });
  const server = values.server as ServerName;
  const rounds = Number(values.rounds);
  await using one = await startServer({ server });
  await using second = await startServer({ server });
  await using third = await startServer({ server });
  await using three = await startCluster({ server });
  const nodes = three.nodes.map(({ host, port }) => ({ host, port }));
  const all = [one, second, third];
  // the servers stop before this process ends
  const ignore = (): void => undefined;
  const ioredis = all.map((each): Opened => [[each], new Redis(each.url).on('error', ignore)]);
  const open = (): unknown => new Cluster(nodes).on('error', ignore);
  const cluster: Opened = [three.nodes, open()];
  await renewals('ioredis', [three.nodes, open()]);
  await compare('ioredis', { rounds, one: ioredis[0] as Opened, three: cluster, singles: ioredis });
  const plain: Opened[] = [];
  for (const each of all) {
    const client = createClient({ url: each.url }).on('error', ignore);
    plain.push([[each], await client.connect()]);
  }
  const rootNodes = nodes.map((socket) => ({ socket }));
  const connect = (): Promise<unknown> =>
    createCluster({ rootNodes }).on('error', ignore).connect();
  await renewals('node-redis', [three.nodes, await connect()]);
  const nodeRedis: Opened = [three.nodes, await connect()];
  await compare('node-redis', {
    rounds,
    one: plain[0] as Opened,
    three: nodeRedis,
    singles: plain,
  });
}

await main();
process.exit();
