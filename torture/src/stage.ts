/**
 * Where the torture plays: a main server that saves everything at once, a standby that replicates
 * it, and the server of the protected resource, to which nothing is done.
 *
 * Half of the processes run on hosts of their own, with one wire to the lock's servers and one to
 * the resource; the others run here and reach the lock's server through a proxy each. Where the
 * machine allows no hosts, all of them do the latter.
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

/** The way of one process to the lock's server. */
export interface Lane {
  readonly url: string;
  readonly resourceUrl: string;
  /** What stands before the command of the process. */
  readonly prefix: readonly string[];
  readonly wire: Wire | undefined;
  readonly proxy: Proxy | undefined;
}

export interface Stage {
  readonly main: Server;
  readonly standby: Server;
  readonly resource: Server;
  /** Undefined where there is no compiler. */
  readonly clock: ClockShim | undefined;
  readonly lanes: readonly Lane[];
  readonly folder: string;
  /** The runner's own history. */
  readonly history: History;
  close(): Promise<void>;
}

/** What the runner is called in the history. */
const RUNNER = 'runner';

/** Keys that are there besides, so that loading takes its time. */
const FILLERS = 4000;

/** Main and standby forget nothing in order, and take over from each other. */
const COMMON = ['--repl-diskless-sync-delay', '0', '--repl-ping-replica-period', '1'];
const SAVED = ['--appendonly', 'yes', '--appendfsync', 'always'];
/** Small, so that a restart has little to read. */
const REWRITE = ['--auto-aof-rewrite-min-size', '4mb'];

export async function makeStage(
  name: ServerName,
  processes: number,
  folder: string,
  useHosts: boolean,
): Promise<Stage> {
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
    const lanes: Lane[] = hosts.map((host) => ({
      url: `redis://${address(host, 0)}:${main.port}`,
      resourceUrl: `redis://${address(host, 1)}:${resource.port}`,
      prefix: host.prefix,
      wire: host.wires[0],
      proxy: undefined,
    }));
    while (lanes.length < processes) {
      const proxy = await startProxy(main);
      open.push(proxy);
      const { url } = proxy;
      lanes.push({ url, resourceUrl: resource.url, prefix: [], wire: undefined, proxy });
    }
    const history = historyOf(folder, RUNNER);
    return { main, standby, resource, clock, lanes, folder, history, close: () => closeAll(open) };
  } catch (error) {
    await closeAll(open);
    throw error;
  }
}

/** Gives the server something to load when it comes back. */
export async function fill(server: Server): Promise<void> {
  const script = `for i = 1, ${FILLERS} do redis.call('SET', 'filler:' .. i, i) end`;
  await server.command('EVAL', script, 0);
}

/** Puts on record what the runner did, or knows of another process. */
export function note(
  { history }: Stage,
  happening: Happening,
  { p = RUNNER, t = monotonic() }: { readonly p?: string; readonly t?: number } = {},
): void {
  history.add(p, happening, t);
}

async function closeAll(open: readonly AsyncDisposable[]): Promise<void> {
  await Promise.all(open.map((one) => one[Symbol.asyncDispose]()));
}

/** Microseconds of the servers' wall clock, as fences count them. */
export function serverMicros({ clock }: Stage): number {
  return (Date.now() + (clock?.offset ?? 0)) * 1000;
}
