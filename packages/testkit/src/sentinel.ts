/** A real master with replicas for tests, with or without sentinels, on free loopback ports. */
import type { ServerName } from './binaries.js';
import { type Server, startServer } from './servers.js';
import { until } from './wait.js';

/** Options of `startReplicated`. */
export interface ReplicatedOptions {
  readonly server: ServerName;
  /** Default 2. */
  readonly replicas?: number;
  /** Default 3. */
  readonly sentinels?: number;
  /** Ms without an answer after which a sentinel takes a server for down. Default 500. */
  readonly downAfter?: number;
  /** Further arguments of the servers, not of the sentinels. */
  readonly args?: readonly string[];
  /** Users of the servers, as in `ServerOptions`. */
  readonly users?: readonly string[];
  /** The environment of each server, by its place in `nodes`. */
  readonly envOf?: (at: number) => Readonly<Record<string, string>>;
}

/** A running master with its replicas. `await using` stops it. */
export interface Replicated extends AsyncDisposable {
  /** The name under which the sentinels know the master. */
  readonly name: string;
  /** All servers; the first one was started as the master. */
  readonly nodes: readonly Server[];
  readonly sentinels: readonly Server[];
  /** The address of the master, as the sentinels know it. */
  master(): Promise<Server>;
  /** Waits until another server than `before` is the master, for all sentinels. */
  successor(before: Server): Promise<Server>;
  /** Waits until all running servers replicate the master, and all sentinels know them. */
  settled(): Promise<void>;
  stop(): Promise<void>;
}

const NAME = 'main';

/** Starts the servers, and resolves when the replicas are connected and the sentinels agree. */
export async function startReplicated(options: ReplicatedOptions): Promise<Replicated> {
  const { server, replicas = 2, sentinels: watchers = 3, downAfter = 500, args = [] } = options;
  const users = options.users === undefined ? {} : { users: [...options.users] };
  const own = ['--repl-diskless-sync-delay', '0', '--repl-ping-replica-period', '1', ...args];
  const start = (count: number, more: (at: number) => object): Promise<Server[]> =>
    Promise.all(Array.from({ length: count }, (_, at) => startServer({ server, ...more(at) })));
  const [nodes, sentinels] = await Promise.all([
    start(1 + replicas, (at) => ({ args: own, env: options.envOf?.(at) ?? {}, ...users })),
    start(watchers, () => ({ args: ['--sentinel'] })),
  ]);
  const all = [...nodes, ...sentinels];
  const deployment: Replicated = {
    ...{ name: NAME, nodes, sentinels },
    master: () => masterOf(nodes, sentinels[0]),
    successor: (before) => successor(deployment, before),
    settled: () => settled(deployment, replicas, downAfter),
    stop: async () => void (await Promise.all(all.map((one) => one.stop()))),
    [Symbol.asyncDispose]: () => deployment.stop(),
  };
  try {
    const [first, ...others] = nodes as [Server, ...Server[]];
    for (const one of others) await one.command('REPLICAOF', first.host, first.port);
    await until(() => linked(first, replicas), { within: 15_000, every: 20 });
    for (const sentinel of sentinels) await watch(sentinel, first, watchers, downAfter);
    await deployment.settled();
  } catch (error) {
    await deployment.stop();
    throw error;
  }
  return deployment;
}

/**
 * While a master is down, its replicas are asked for their state once a second, and a state older
 * than five pings counts as unknown. With shorter pings an election often finds no replica, and
 * the next one follows seconds later.
 */
const PING_MS = 250;

async function watch(
  sentinel: Server,
  master: Server,
  count: number,
  downAfter: number,
): Promise<void> {
  // the usual periods are a second and more, so a fail-over would take several seconds
  const periods = { 'info-period': 200, 'ping-period': PING_MS, 'ask-period': 100 };
  const more = { 'publish-period': 200, 'min-link-reconnect-period': 100 };
  for (const [name, ms] of Object.entries({ ...periods, ...more })) {
    await sentinel.command('SENTINEL', 'DEBUG', name, ms);
  }
  const quorum = Math.floor(count / 2) + 1;
  await sentinel.command('SENTINEL', 'MONITOR', NAME, master.host, master.port, quorum);
  const settings = { 'down-after-milliseconds': downAfter, 'failover-timeout': 1000 };
  for (const [name, ms] of Object.entries(settings)) {
    await sentinel.command('SENTINEL', 'SET', NAME, name, ms);
  }
}

async function masterOf(nodes: readonly Server[], sentinel: Server | undefined): Promise<Server> {
  if (sentinel === undefined) return nodes[0] as Server;
  const address = await sentinel.command('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', NAME);
  const port = Number((address as string[])[1]);
  const found = nodes.find((node) => node.port === port);
  if (found === undefined) throw new Error(`no server has the port ${port} of the master`);
  return found;
}

function successor({ nodes, sentinels }: Replicated, before: Server): Promise<Server> {
  const agreed = async (): Promise<Server | undefined> => {
    const views = await Promise.all(sentinels.map((sentinel) => masterOf(nodes, sentinel)));
    const [next] = views as [Server];
    if (next === before || views.some((view) => view !== next)) return undefined;
    const role = String(await next.command('INFO', 'replication'));
    return role.includes('role:master') ? next : undefined;
  };
  return until(agreed, { within: 30_000, every: 20, what: 'another server is the master' });
}

/** All replicas are connected and have received the data of the master. */
async function linked(master: Server, count: number): Promise<boolean> {
  const info = String(await master.command('INFO', 'replication'));
  return [...info.matchAll(/^slave\d+:.*state=online,/gm)].length === count;
}

async function settled(deployment: Replicated, replicas: number, patience: number): Promise<void> {
  const limits = { within: 30_000 + patience, every: 20, what: 'the replicas are connected' };
  await until(async () => linked(await deployment.master(), replicas), limits);
  const { sentinels } = deployment;
  const knows = async (sentinel: Server): Promise<boolean> => {
    const flat = (await sentinel.command('SENTINEL', 'MASTER', NAME)) as string[];
    const field = (name: string): string | undefined => flat[flat.indexOf(name) + 1];
    const others = field('num-other-sentinels') === `${sentinels.length - 1}`;
    if (!others || field('num-slaves') !== `${replicas}` || field('flags') !== 'master') {
      return false;
    }
    const list = (await sentinel.command('SENTINEL', 'REPLICAS', NAME)) as string[][];
    return list.every((flat) => {
      const at = (name: string): string | undefined => flat[flat.indexOf(name) + 1];
      return at('flags') === 'slave' && at('master-link-status') === 'ok';
    });
  };
  for (const sentinel of sentinels) {
    await until(() => knows(sentinel), { ...limits, what: 'the sentinels know all servers' });
  }
}
