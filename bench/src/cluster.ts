/**
 * Scenario r: a cluster of three masters beside one server, in turns of one run.
 *
 *   npm run build && node bench/dist/cluster.js [--rounds 9] [--server redis]
 *
 * A pair is one acquisition of a free lock and its release. The ratios are medians of those of the
 * rounds: the time of all scripts on the servers, and the CPU time of the client's process. `bare`
 * is a pair of SET and DEL of the same client: what the cluster client itself costs.
 */
import { parseArgs } from 'node:util';
import { Holdfast, type RedisClient } from 'holdfast';
import {
  percentile,
  type Server,
  type ServerName,
  startCluster,
  startServer,
} from 'holdfast-testkit';
import { Cluster, Redis } from 'ioredis';
import { createClient, createCluster } from 'redis';

const KEYS = 300;
const PAIRS = 3000;

/** A deployment with one client. */
interface Contender {
  readonly servers: readonly Server[];
  readonly pair: (key: string) => Promise<unknown>;
  readonly close: () => unknown;
}

interface Reading {
  /** µs of a pair. */
  readonly script: number;
  readonly cpu: number;
}

const COMMANDS = ['evalsha', 'set', 'del'] as const;

async function read({ servers, pair }: Contender, atOnce: number): Promise<Reading> {
  let at = 0;
  const next = (): Promise<unknown> => pair(`key ${at++ % KEYS}`);
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

async function compare(name: string, rounds: number, one: Opened, three: Opened): Promise<void> {
  const [single, bare] = contenders(one);
  const [cluster, bareCluster] = contenders(three);
  for (const atOnce of [1, 50]) {
    const found: [Reading, Reading, Reading, Reading][] = [];
    for (let round = 0; round < rounds; round++) {
      const first = await read(single, atOnce);
      const second = await read(cluster, atOnce);
      found.push([first, second, await read(bare, atOnce), await read(bareCluster, atOnce)]);
    }
    const ratio = (field: keyof Reading, [a, b]: readonly [0 | 2, 1 | 3]): string =>
      median(found.map((all) => all[b][field] / all[a][field])).toFixed(2);
    const locks = `script time × ${ratio('script', [0, 1])}, CPU × ${ratio('cpu', [0, 1])}`;
    const plain = `script time × ${ratio('script', [2, 3])}, CPU × ${ratio('cpu', [2, 3])}`;
    const micros = (field: keyof Reading): string =>
      median(found.map(([a]) => a[field])).toFixed(1);
    const base = `one server: ${micros('script')} and ${micros('cpu')} µs a pair`;
    console.log(`${name}, ${atOnce} at once: ${locks} (bare: ${plain}); ${base}`);
  }
  await cluster.close();
  await single.close();
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      rounds: { type: 'string', default: '9' },
      server: { type: 'string', default: 'redis' },
    },
  });
  const server = values.server as ServerName;
  await using one = await startServer({ server });
  await using three = await startCluster({ server });
  const nodes = three.nodes.map(({ host, port }) => ({ host, port }));
  const single = new Redis(one.url);
  await compare(
    'ioredis',
    Number(values.rounds),
    [[one], single],
    [three.nodes, new Cluster(nodes)],
  );
  const rootNodes = nodes.map((socket) => ({ socket }));
  const plain = await createClient({ url: one.url }).connect();
  const cluster = await createCluster({ rootNodes }).connect();
  await compare('node-redis', Number(values.rounds), [[one], plain], [three.nodes, cluster]);
}

await main();
