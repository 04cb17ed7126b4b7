/** What the server did between two moments. */
import type { Server } from 'holdfast-testkit';

/** Commands of the bench itself, of connecting, and of the wake channels. */
const ASIDE = /^(info|config|client|hello|ping|script|select|flushall|memory|subscribe|time)\b/;
const SCRIPTS = ['eval', 'evalsha', 'evalsha_ro', 'eval_ro', 'fcall'];

export interface ServerReading {
  /** All calls, including those that scripts make. */
  readonly calls: number;
  readonly scripts: number;
  /** Time of the scripts in µs, including the calls that they make. */
  readonly scriptTime: number;
  /** CPU time of the server in µs. */
  readonly cpu: number;
  /** Connections accepted. */
  readonly connections: number;
}

export async function readServer(server: Server): Promise<ServerReading> {
  const info = String(await server.command('INFO', 'cpu', 'stats', 'commandstats'));
  const field = (name: string): number =>
    Number(new RegExp(`^${name}:([\\d.]+)`, 'm').exec(info)?.[1] ?? 0);
  const stats = [...info.matchAll(/^cmdstat_([^:]+):calls=(\d+),usec=(\d+)/gm)].map(
    ([, name = '', calls, usec]) => ({
      ...{ name: name.toLowerCase(), calls: Number(calls), usec: Number(usec) },
    }),
  );
  const own = stats.filter(({ name }) => !ASIDE.test(name));
  const scripts = own.filter(({ name }) => SCRIPTS.includes(name));
  const sum = (list: typeof own, of: 'calls' | 'usec'): number =>
    list.reduce((total, one) => total + one[of], 0);
  return {
    calls: sum(own, 'calls'),
    scripts: sum(scripts, 'calls'),
    scriptTime: sum(scripts, 'usec'),
    cpu: (field('used_cpu_user') + field('used_cpu_sys')) * 1e6,
    connections: field('total_connections_received'),
  };
}

/** The difference of two readings. */
export function since(before: ServerReading, after: ServerReading): ServerReading {
  const names = ['calls', 'scripts', 'scriptTime', 'cpu', 'connections'] as const;
  return Object.fromEntries(
    names.map((name) => [name, after[name] - before[name]]),
  ) as unknown as ServerReading;
}

/** Calls by the name of the command, also those of scripts; since an earlier reading. */
export async function callsByName(
  servers: readonly Server[],
  before?: ReadonlyMap<string, number>,
): Promise<Map<string, number>> {
  const all = new Map<string, number>();
  for (const server of servers) {
    const info = String(await server.command('INFO', 'commandstats'));
    for (const [, name = '', calls] of info.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)) {
      if (!ASIDE.test(name)) all.set(name, (all.get(name) ?? 0) + Number(calls));
    }
  }
  for (const [name, calls] of before ?? []) all.set(name, (all.get(name) ?? 0) - calls);
  return all;
}

/** The most frequent first, without those that are seldom. */
export function perOne(calls: ReadonlyMap<string, number>, count: number): string {
  const each = [...calls].map(([name, all]) => ({ name, one: all / count }));
  const often = each.filter(({ one }) => one >= 0.05).toSorted((a, b) => b.one - a.one);
  return often.map(({ name, one }) => `${name} ${one.toFixed(2)}`).join(', ');
}
