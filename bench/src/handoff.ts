/**
 * Ten tasks of one process acquire one lock and hold it for a millisecond each: every acquisition
 * is a hand-off. The ceiling is the same work without a store.
 */
import { Holdfast } from 'holdfast';
import { connect } from './clients.js';
import { inTurns, rateOf, ratios, spread } from './measure.js';
import type { Report } from './report.js';
import { type Bench } from './settings.js';
import { scriptCalls } from './stats.js';

const TASKS = 10;
const HOLD = 1;
const LEAST = 800;

const hold = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, HOLD));

/** A chain of promises: a lock without cost. */
function ceiling(seconds: number): Promise<number> {
  let last: Promise<void> = Promise.resolve();
  return rateOf(seconds, TASKS, () => () => {
    last = last.then(hold);
    return last;
  });
}

interface Side {
  rate(): Promise<number>;
  /** Script calls per acquisition, one figure for each measurement. */
  readonly calls: number[];
}

function side(bench: Bench, holdfast: Holdfast, fair: boolean, overlap: () => void): Side {
  const mutex = holdfast.mutex('handoff', { fair });
  const calls: number[] = [];
  let inside = 0;
  const rate = async (): Promise<number> => {
    let acquisitions = 0;
    const before = await scriptCalls(bench.server);
    const figure = await rateOf(bench.seconds, TASKS, () => async () => {
      const lease = await mutex.acquire();
      inside += 1;
      if (inside > 1) overlap();
      acquisitions += 1;
      await hold();
      inside -= 1;
      await lease.release();
    });
    calls.push(((await scriptCalls(bench.server)) - before) / acquisitions);
    return figure;
  };
  return { rate, calls };
}

export async function handoff(bench: Bench, report: Report): Promise<void> {
  const { server, seconds, rounds } = bench;
  for (const client of bench.clients) {
    const bare = await connect(client, server.port);
    const holdfast = new Holdfast(bare.client);
    const overlap = (): void => report.fail(`two tasks held the lock at the same time (${client})`);
    const sides = {
      default: side(bench, holdfast, false, overlap),
      fair: side(bench, holdfast, true, overlap),
    };
    const figures = await inTurns(rounds, {
      ceiling: () => ceiling(seconds),
      default: () => sides.default.rate(),
      fair: () => sides.fair.rate(),
    });
    for (const mode of ['default', 'fair'] as const) {
      const part = `Hand-off: ${TASKS} tasks, one key, held for ${HOLD} ms`;
      const common = { part, server: server.name, client };
      report.add({
        ...{ ...common, what: `${mode} mode`, unit: 'acq/s', value: spread(figures[mode]) },
        against: {
          what: 'without a store',
          value: spread(figures.ceiling),
          ratio: ratios(figures[mode], figures.ceiling),
        },
        target: { of: 'value', least: LEAST },
      });
      report.add({
        ...{ ...common, what: `${mode} mode: script calls`, unit: 'per acq.' },
        value: spread(sides[mode].calls.slice(1)),
        target: { of: 'value', most: 3.1 },
      });
    }
    await holdfast.close();
    await bare.close();
  }
}
