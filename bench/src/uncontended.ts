/**
 * Acquire and release without waiters, in one loop and in many concurrent loops, against the simple
 * lock on the same client.
 */
import { Holdfast } from 'holdfast';
import { type Bare, connect } from './clients.js';
import { inTurns, rateOf, ratios, spread } from './measure.js';
import type { Report } from './report.js';
import type { Bench } from './settings.js';

const LOOPS = 256;
const TTL = 10_000;

/** Creates key names: always the same name, or a new name each time. */
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

function assertDone(done: boolean): void {
  if (!done) throw new Error('an uncontended acquire or release did not succeed');
}

function bareLoop(bare: Bare, keys: Keys): (loop: number) => () => Promise<void> {
  return (loop) => {
    const next = keys(loop);
    let count = 0;
    return async () => {
      const key = next();
      const token = `token-of-22-characters-${loop}.${count++}`;
      assertDone(await bare.acquire(`bare:${key}`, token, TTL));
      assertDone(await bare.release(`bare:${key}`, token));
    };
  };
}

function ourLoop(holdfast: Holdfast, keys: Keys): (loop: number) => () => Promise<void> {
  return (loop) => {
    const next = keys(loop);
    return async () => {
      const lease = await holdfast.mutex(next()).acquire();
      assertDone((await lease.release()) === 'freed');
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

/** One loop: the throughput of a single caller. */
export async function uncontended(bench: Bench, report: Report): Promise<void> {
  const part = 'Uncontended, one loop: acquire + release';
  await compare(bench, report, { part, name: 'one key', keys: sameKey, loops: 1, least: 0.9 });
  await compare(bench, report, {
    part,
    name: 'changing keys',
    keys: newKeys,
    loops: 1,
    least: 0.9,
  });
}

/** Many concurrent loops: the highest throughput of a process. */
export async function concurrent(bench: Bench, report: Report): Promise<void> {
  const part = `Uncontended, ${LOOPS} concurrent loops on ${LOOPS} keys`;
  await compare(bench, report, { part, name: 'own key each', keys: sameKey, loops: LOOPS });
}
