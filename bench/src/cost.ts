/** The server's time in microseconds for an acquire and a release, against the simple lock. */
import { Holdfast } from 'holdfast';
import type { CommandStats } from 'holdfast-testkit';
import { type Bare, connect } from './clients.js';
import { inTurns, ratios, spread } from './measure.js';
import type { Report } from './report.js';
import type { Bench } from './settings.js';

const LOCKS = 2000;

interface Cost {
  acquire: number;
  release: number;
}

/** Acquires all locks, then releases all, so that each operation is measured separately. */
async function measureCost(
  bench: Bench,
  names: { acquire: string; release: string },
  work: { acquire(key: string): Promise<unknown>; release(key: string): Promise<unknown> },
): Promise<Cost> {
  const keys = Array.from({ length: LOCKS }, (_, index) => `cost:${index}`);
  const before = await bench.server.commandstats();
  for (const key of keys) await work.acquire(key);
  const between = await bench.server.commandstats();
  for (const key of keys) await work.release(key);
  const after = await bench.server.commandstats();
  return {
    acquire: microseconds(names.acquire, before, between),
    release: microseconds(names.release, between, after),
  };
}

type Stats = Map<string, CommandStats>;

function microseconds(name: string, before: Stats, after: Stats): number {
  const [from, to] = [before.get(name), after.get(name)];
  const calls = (to?.calls ?? 0) - (from?.calls ?? 0);
  return ((to?.usec ?? 0) - (from?.usec ?? 0)) / calls;
}

function bareCost(bench: Bench, bare: Bare): Promise<Cost> {
  return measureCost(
    bench,
    { acquire: 'set', release: 'evalsha' },
    {
      acquire: (key) => bare.acquire(`bare:${key}`, 'token-of-22-characters', 60_000),
      release: (key) => bare.release(`bare:${key}`, 'token-of-22-characters'),
    },
  );
}

async function ourCost(bench: Bench, bare: Bare): Promise<Cost> {
  const holdfast = new Holdfast(bare.client, { ttl: 60_000 });
  const leases = new Map<string, { release(): Promise<unknown> }>();
  const cost = await measureCost(
    bench,
    { acquire: 'evalsha', release: 'evalsha' },
    {
      acquire: async (key) => leases.set(key, await holdfast.mutex(key).acquire()),
      release: async (key) => leases.get(key)?.release(),
    },
  );
  await holdfast.close();
  return cost;
}

/** The server's time does not depend on the client, so one client is enough. */
export async function cost(bench: Bench, report: Report): Promise<void> {
  const { server, rounds } = bench;
  const client = bench.clients[0] ?? 'ioredis';
  const bare = await connect(client, server.port);
  const releases = { bare: [] as number[], ours: [] as number[] };
  const both = async (side: 'bare' | 'ours'): Promise<number> => {
    const { acquire, release } = await (side === 'bare' ? bareCost : ourCost)(bench, bare);
    releases[side].push(release);
    return acquire;
  };
  const acquires = await inTurns(rounds, { bare: () => both('bare'), ours: () => both('ours') });
  await bare.close();
  const add = (what: string, against: string, ours: number[], theirs: number[]): void =>
    report.add({
      ...{ part: 'Server time, no waiters', server: server.name, client, what },
      unit: 'µs',
      value: spread(ours),
      against: { what: against, value: spread(theirs), ratio: ratios(ours, theirs) },
    });
  add('acquire', 'SET NX PX', acquires.ours, acquires.bare);
  // the warm-up round is not counted
  add('release', 'compare-and-delete', releases.ours.slice(1), releases.bare.slice(1));
}
