/**
 * What the server pays: its own microseconds for an acquire and a release, against the bare lock's.
 */
import { Holdfast } from 'holdfast';
import type { CommandStats } from 'holdfast-testkit';
import { type Bare, connect } from './clients.js';
import { inTurns, ratios, spread } from './measure.js';
import type { Report } from './report.js';
import type { Bench } from './settings.js';

const LOCKS = 2000;

interface Cost {
  take: number;
  give: number;
}

/** Takes all, then gives all back, so that each is measured for itself. */
async function stage(
  bench: Bench,
  names: { take: string; give: string },
  work: { take(key: string): Promise<unknown>; give(key: string): Promise<unknown> },
): Promise<Cost> {
  const keys = Array.from({ length: LOCKS }, (_, index) => `cost:${index}`);
  const before = await bench.server.commandstats();
  for (const key of keys) await work.take(key);
  const between = await bench.server.commandstats();
  for (const key of keys) await work.give(key);
  const after = await bench.server.commandstats();
  return {
    take: microseconds(names.take, before, between),
    give: microseconds(names.give, between, after),
  };
}

type Stats = Map<string, CommandStats>;

function microseconds(name: string, before: Stats, after: Stats): number {
  const [from, to] = [before.get(name), after.get(name)];
  const calls = (to?.calls ?? 0) - (from?.calls ?? 0);
  return ((to?.usec ?? 0) - (from?.usec ?? 0)) / calls;
}

function bareCost(bench: Bench, bare: Bare): Promise<Cost> {
  return stage(
    bench,
    { take: 'set', give: 'evalsha' },
    {
      take: (key) => bare.take(`bare:${key}`, 'token-of-22-characters', 60_000),
      give: (key) => bare.give(`bare:${key}`, 'token-of-22-characters'),
    },
  );
}

async function ourCost(bench: Bench, bare: Bare): Promise<Cost> {
  const holdfast = new Holdfast(bare.client, { ttl: 60_000 });
  const leases = new Map<string, { release(): Promise<unknown> }>();
  const cost = await stage(
    bench,
    { take: 'evalsha', give: 'evalsha' },
    {
      take: async (key) => leases.set(key, await holdfast.mutex(key).acquire()),
      give: async (key) => leases.get(key)?.release(),
    },
  );
  await holdfast.close();
  return cost;
}

/** The time of the server does not depend on the client, so one of them is enough. */
export async function cost(bench: Bench, report: Report): Promise<void> {
  const { server, rounds } = bench;
  const client = bench.clients[0] ?? 'ioredis';
  const bare = await connect(client, server.port);
  const gives = { bare: [] as number[], ours: [] as number[] };
  const both = async (side: 'bare' | 'ours'): Promise<number> => {
    const { take, give } = await (side === 'bare' ? bareCost : ourCost)(bench, bare);
    gives[side].push(give);
    return take;
  };
  const takes = await inTurns(rounds, { bare: () => both('bare'), ours: () => both('ours') });
  await bare.close();
  const add = (what: string, against: string, ours: number[], theirs: number[]): void =>
    report.add({
      ...{ part: 'Time of the server, while nobody waits', server: server.name, client, what },
      unit: 'µs',
      value: spread(ours),
      against: { what: against, value: spread(theirs), ratio: ratios(ours, theirs) },
    });
  add('acquire', 'SET NX PX', takes.ours, takes.bare);
  // the warm-up round is not counted
  add('release', 'compare-and-delete', gives.ours.slice(1), gives.bare.slice(1));
}
