/**
 * The servers and the network of a run: a main server that saves every command at once, a standby
 * that replicates it, and the server of the protected resource, which has no faults.
 *
 * Half of the processes run in network namespaces ("hosts"), each with one wire to the lock servers
 * and one to the resource. Each of the others reaches the lock server through its own proxy. Where
 * the machine allows no namespaces, all processes use proxies.
 */
import { mkdirSync } from 'node:fs';
import {
  type ClockShim,
  type Host,
  makeClockShim,
  makeHost,
  type Proxy,
  type Server,
  type ServerName,
  startProxy,
  startServer,
  type Wire,
} from 'holdfast-testkit';
import type { Happening, History } from 'holdfast-checker';
import { type HoldfastStore, quorum, type RedisClient } from 'holdfast';
import { connect } from 'holdfast-trials/support/clients';
import { monotonic } from 'holdfast-trials/support/overlaps';
import { historyOf, quorumOptions, type StoreName } from './settings.js';
import type { HttpProxy } from './etcd/http-proxy.js';
import type { WireProxy } from './postgres/wire-proxy.js';

/** The network path of one process to the lock server. */
export interface Route {
  /** Of the lock server, or of its members. */
  readonly urls: readonly string[];
  readonly resourceUrl: string;
  /** Words before the command of the process, which start it in its namespace. */
  readonly prefix: readonly string[];
  readonly wire: Wire | undefined;
  /** One for each URL of Redis, or none. */
  readonly proxies: readonly Proxy[];
  /** To PostgreSQL. */
  readonly gate?: WireProxy;
  /** To each member of etcd. */
  readonly gates?: readonly HttpProxy[];
  /** Environment variables of the process. */
  readonly env?: Readonly<Record<string, string>>;
}

/** What a run needs of every store. */
export interface Scenario {
  readonly store: StoreName;
  readonly version: string;
  /** True if a server of the quorum may lose its memory. */
  readonly forgets: boolean;
  readonly resource: Server;
  /** The clock of the store; undefined without a C compiler, or if it cannot be stepped. */
  readonly clock: ClockShim | undefined;
  readonly routes: readonly Route[];
  readonly folder: string;
  /** The runner's own history. */
  readonly history: History;
  /** The store for an instance of the runner, and the function that closes it. */
  readonly open: () => Promise<{
    readonly store: HoldfastStore | RedisClient;
    readonly close: () => unknown;
  }>;
  /** The queue of a lock: the ticket of each waiter, by its id. */
  tickets(k: string): Promise<ReadonlyMap<string, number>>;
  close(): Promise<void>;
}

/** One server with a standby, or the servers of a quorum. */
export interface ServerScenario extends Scenario {
  readonly main: Server;
  /** Undefined with a quorum. */
  readonly standby: Server | undefined;
  /** The servers of the quorum, or the main server alone. */
  readonly members: readonly Server[];
}

/** The name of the runner in the history. */
export const RUNNER = 'runner';

/** Extra keys, which make loading slower. */
const FILLERS = 4000;

/** Main and standby replicate without delay, so that a fail-over in order loses no write. */
const COMMON = ['--repl-diskless-sync-delay', '0', '--repl-ping-replica-period', '1'];
export const SAVED: readonly string[] = ['--appendonly', 'yes', '--appendfsync', 'always'];
/** The log is rewritten when it is small, so that a restart reads little. */
const REWRITE = ['--auto-aof-rewrite-min-size', '4mb'];

export async function startScenario(
  name: ServerName,
  processes: number,
  folder: string,
  useHosts: boolean,
): Promise<ServerScenario> {
  mkdirSync(folder, { recursive: true });
  const clock = await makeClockShim();
  const env = clock?.env ?? {};
  const hosts: Host[] = [];
  const open: AsyncDisposable[] = [];
  try {
    for (let index = 0; useHosts && index < Math.floor(processes / 2); index++) {
      const host = await makeHost(2);
      if (host === undefined) break;
      hosts.push(host);
      open.push(host);
    }
    const address = (host: Host, wire: number): string => (host.wires[wire] as Wire).address;
    const bind = hosts.map((host) => address(host, 0));
    const args = [...COMMON, ...SAVED, ...REWRITE];
    const main = await startServer({ server: name, users: [], args, bind, env });
    open.push(main);
    const follow = [...COMMON, '--replicaof', main.host, `${main.port}`];
    const standby = await startServer({ server: name, users: [], args: follow, bind, env });
    open.push(standby);
    const resource = await startServer({
      server: name,
      bind: hosts.map((host) => address(host, 1)),
    });
    open.push(resource);
    await fill(main);
    const routes: Route[] = hosts.map((host) => ({
      urls: [`redis://${address(host, 0)}:${main.port}`],
      resourceUrl: `redis://${address(host, 1)}:${resource.port}`,
      prefix: host.prefix,
      wire: host.wires[0],
      proxies: [],
    }));
    while (routes.length < processes) {
      routes.push(await proxyRoute([main], resource, open));
    }
    const history = historyOf(folder, RUNNER);
    const close = (): Promise<void> => closeAll(open);
    const more = { main, standby, members: [main], forgets: false, resource, clock, routes };
    return { ...reachable(name, [main], false), ...more, history, folder, close };
  } catch (error) {
    await closeAll(open);
    throw error;
  }
}

/** How the runner reaches the servers. */
export function reachable(
  store: ServerName,
  members: readonly Server[],
  forgets: boolean,
): Pick<Scenario, 'store' | 'version' | 'open' | 'tickets'> {
  const [main] = members as [Server];
  return {
    store,
    version: `${main.name} ${main.version}`,
    open: async () => {
      const opened = await Promise.all(members.map(({ url }) => connect('ioredis-6', url)));
      const clients = opened.map(({ client }) => client);
      const [only] = clients as [RedisClient];
      return {
        store: clients.length > 1 ? quorum(clients, quorumOptions(forgets)) : only,
        close: () => opened.forEach(({ close }) => close()),
      };
    },
    tickets: async (k) => {
      const words = ['ZRANGE', `holdfast:{${k}}:q`, 0, -1, 'WITHSCORES'] as const;
      const queue = (await main.command(...words)) as string[];
      const tickets = new Map<string, number>();
      for (let at = 0; at + 1 < queue.length; at += 2) {
        tickets.set(queue[at] ?? '', Number(queue[at + 1]));
      }
      return tickets;
    },
  };
}

/** Writes the extra keys that the server loads after a restart. */
export async function fill(server: Server): Promise<void> {
  const script = `for i = 1, ${FILLERS} do redis.call('SET', 'filler:' .. i, i) end`;
  await server.command('EVAL', script, 0);
}

/** Records an event of the runner, or of process `p`. */
export function note(
  { history }: Scenario,
  happening: Happening,
  { p = RUNNER, t = monotonic() }: { readonly p?: string; readonly t?: number } = {},
): void {
  history.add(p, happening, t);
}

/** A route to several servers through a proxy for each. */
export async function proxyRoute(
  servers: readonly Server[],
  resource: Server,
  open: AsyncDisposable[],
): Promise<Route> {
  const proxies = await Promise.all(servers.map((server) => startProxy(server)));
  open.push(...proxies);
  const urls = proxies.map(({ url }) => url);
  return { urls, resourceUrl: resource.url, prefix: [], wire: undefined, proxies };
}

export async function closeAll(open: readonly AsyncDisposable[]): Promise<void> {
  await Promise.all(open.map((one) => one[Symbol.asyncDispose]()));
}

/** The wall clock of the servers in microseconds, the unit of fences. */
export function serverMicros({ clock }: Scenario): number {
  return (Date.now() + (clock?.offset ?? 0)) * 1000;
}
