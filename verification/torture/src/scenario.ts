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
  readonly url: string;
  readonly resourceUrl: string;
  /** Words before the command of the process, which start it in its namespace. */
  readonly prefix: readonly string[];
  readonly wire: Wire | undefined;
  readonly proxy: Proxy | undefined;
}

export interface Scenario {
  readonly main: Server;
  readonly standby: Server;
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
const RUNNER = 'runner';

/** Extra keys, which make loading slower. */
const FILLERS = 4000;

/** Main and standby replicate without delay, so that a fail-over in order loses no write. */
const COMMON = ['--repl-diskless-sync-delay', '0', '--repl-ping-replica-period', '1'];
const SAVED = ['--appendonly', 'yes', '--appendfsync', 'always'];
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
      url: `redis://${address(host, 0)}:${main.port}`,
      resourceUrl: `redis://${address(host, 1)}:${resource.port}`,
      prefix: host.prefix,
      wire: host.wires[0],
      proxy: undefined,
    }));
    while (routes.length < processes) {
      const proxy = await startProxy(main);
      open.push(proxy);
      const { url } = proxy;
      routes.push({ url, resourceUrl: resource.url, prefix: [], wire: undefined, proxy });
    }
    const history = historyOf(folder, RUNNER);
    return { main, standby, resource, clock, routes, folder, history, close: () => closeAll(open) };
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

async function closeAll(open: readonly AsyncDisposable[]): Promise<void> {
  await Promise.all(open.map((one) => one[Symbol.asyncDispose]()));
}

/** The wall clock of the servers in microseconds, the unit of fences. */
export function serverMicros({ clock }: Scenario): number {
  return (Date.now() + (clock?.offset ?? 0)) * 1000;
}
