/**
 * Nobody waits: acquire and release, in a row and in many loops at once, against the bare lock on
 * the same client.
 */
import { Holdfast } from 'holdfast';
import { type Bare, connect } from './clients.js';
import { inTurns, rateOf, ratios, spread } from './measure.js';
import type { Report } from './report.js';
import type { Bench } from './settings.js';

const LOOPS = 256;
const TTL = 10_000;

/** Names for keys: always the same, or never the same twice. */
type Keys = (loop: number) => () => string;

let runs = 0;

const sameKey: Keys = (loop) => {
  const key = `bench:${loop}`;
  return () => key;
};

const newKeys: Keys = (loop) => {
  const run = `bench:${runs++}:${loop}`;
  let count = 0;
  return () => `${run}:${count++}`;
};

/** Throws if the lock was not free, or not ours. */
function must(done: boolean): void {
  if (!done) throw new Error('an uncontended lock was not free');
}

function bareLoop(bare: Bare, keys: Keys): (loop: number) => () => Promise<void> {
  return (loop) => {
    const next = keys(loop);
    let count = 0;
    return async () => {
      const key = next();
      const token = `token-of-22-characters-${loop}.${count++}`;
      must(await bare.take(`bare:${key}`, token, TTL));
      must(await bare.give(`bare:${key}`, token));
    };
  };
}

function ourLoop(holdfast: Holdfast, keys: Keys): (loop: number) => () => Promise<void> {
  return (loop) => {
    const next = keys(loop);
    return async () => {
      const lease = await holdfast.mutex(next()).acquire();
      must((await lease.release()) === 'freed');
    };
  };
}

async function compare(
  bench: Bench,
  report: Report,
  what: { part: string; name: string; keys: Keys; loops: number; least?: number },
): Promise<void> {
  const { server, seconds, rounds } = bench;
  const { part, name, keys, loops, least } = what;
  for (const client of bench.clients) {
    const bare = await connect(client, server.port);
    const holdfast = new Holdfast(bare.client, { ttl: TTL });
    const figures = await inTurns(rounds, {
      bare: () => rateOf(seconds, loops, bareLoop(bare, keys)),
      ours: () => rateOf(seconds, loops, ourLoop(holdfast, keys)),
    });
    report.add({
      ...{ part, server: server.name, client, what: name, unit: 'pairs/s' },
      value: spread(figures.ours),
      against: {
        what: 'bare client',
        value: spread(figures.bare),
        ratio: ratios(figures.ours, figures.bare),
      },
      ...(least === undefined ? {} : { target: { of: 'ratio' as const, least } }),
    });
    await holdfast.close();
    await bare.close();
    await server.command('FLUSHALL');
  }
}

/** One after another: what a single caller gets. */
export async function uncontended(bench: Bench, report: Report): Promise<void> {
  const part = 'Uncontended, one after another: acquire + release';
  await compare(bench, report, { part, name: 'one key', keys: sameKey, loops: 1, least: 0.9 });
  await compare(bench, report, {
    part,
    name: 'changing keys',
    keys: newKeys,
    loops: 1,
    least: 0.9,
  });
}

/** Many loops at once: what a process gets at most. */
export async function concurrent(bench: Bench, report: Report): Promise<void> {
  const part = `Uncontended, ${LOOPS} loops on as many keys`;
  await compare(bench, report, { part, name: 'own key each', keys: sameKey, loops: LOOPS });
}
