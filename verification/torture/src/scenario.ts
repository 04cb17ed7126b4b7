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
import { monotonic } from 'holdfast-trials/support/overlaps';
import { historyOf } from './settings.js';

/** The network path of one process to the lock server. */
export interface Route {
  /** Of the lock server, or of the servers of the quorum. */
  readonly urls: readonly string[];
  readonly resourceUrl: string;
  /** Words before the command of the process, which start it in its namespace. */
  readonly prefix: readonly string[];
  readonly wire: Wire | undefined;
  /** One for each URL, or none. */
  readonly proxies: readonly Proxy[];
}

export interface Scenario {
  readonly main: Server;
  /** Undefined with a quorum. */
  readonly standby: Server | undefined;
  /** The servers of the quorum, or the main server alone. */
  readonly members: readonly Server[];
  /** True if a server of the quorum may lose its memory. */
  readonly forgets: boolean;
  readonly resource: Server;
  /** Undefined without a C compiler. */
  readonly clock: ClockShim | undefined;
  readonly routes: readonly Route[];
  readonly folder: string;
  /** The runner's own history. */
  readonly history: History;
  close(): Promise<void>;
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
): Promise<Scenario> {
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
    const more = { members: [main], forgets: false, resource, clock, routes, history };
    return { main, standby, ...more, folder, close };
  } catch (error) {
    await closeAll(open);
    throw error;
  }
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
