/**
 * Many processes acquire few locks, hold them for very different times, and sometimes abandon an
 * acquisition. For a read-write lock or a semaphore the weights vary, and exclusion is checked by
 * weight. Two checks are independent of the lock and of each other: a resource that refuses stale
 * fences, and the merged intervals in which processes held.
 */
import { percentile, type Server, startServer, type Worker } from 'holdfast-testkit';
import { describe, type Pair } from './support/overlaps.js';
import { Problems } from './support/problems.js';
import { excesses, outOfOrder, type Weighed } from './support/weights.js';
import { startWorker } from './support/workers.js';
import { type Parameters, type Trial, type Verdict, verdict } from './trial.js';
import type { Given, Result } from './workers/exclusion.js';

/** The keys, and the `fair` option of their locks; `undefined` is random. */
const KEYS = { default: false, fair: true, mixed: undefined } as const;

async function run(parameters: Parameters): Promise<Verdict> {
  await using server = await startServer({ server: parameters.server });
  const workers: Worker[] = [];
  try {
    await Promise.all(
      Array.from({ length: parameters.processes }, async (_, index) => {
        workers[index] = await startWorker('exclusion', givenTo(index, server, parameters));
      }),
    );
    const within = parameters.seconds * 1000 + 60_000;
    const all = await Promise.all(
      workers.map(async (worker) => {
        await worker.send({ type: 'go' });
        const result = (await worker.next('result', { within })) as unknown as Result;
        const { code } = await worker.exited;
        return { ...result, code };
      }),
    );
    return judge(all);
  } finally {
    for (const worker of workers) worker?.kill();
  }
}

function givenTo(index: number, server: Server, parameters: Parameters): Given {
  const { client, seed, seconds, tasks, fault, primitive } = parameters;
  const keys = Object.entries(KEYS).map(([key, fair]) =>
    fair === undefined ? { key } : { key, fair },
  );
  const url = server.url;
  return { index, url, client, seed: seed * 1000 + index, seconds, tasks, keys, fault, primitive };
}

function judge(all: readonly (Result & { code: number | null })[]): Verdict {
  const problems = new Problems();
  const intervals: Weighed[] = [];
  const waits: Record<string, number[]> = {};
  const sum: Result['counts'] = {};
  for (const [index, { sections, stale, errors, counts, code }] of all.entries()) {
    if (code !== 0) problems.add('exit', `worker ${index} ended with ${code}`);
    if (sections.length === 0) problems.add('starved', `worker ${index} never held a lock`);
    for (const error of errors) problems.add('error', error);
    for (const what of stale) problems.add('fence', what);
    for (const [name, count] of Object.entries(counts)) sum[name] = (sum[name] ?? 0) + count;
    for (const [key, task, from, to, fence, wait, weight, capacity] of sections) {
      const who = `worker ${index} task ${task}`;
      intervals.push({ key, who, from, to, fence, weight, capacity });
      (waits[key] ??= []).push(wait);
    }
  }
  const add = (kind: string, pairs: readonly Pair[]): void => {
    for (const pair of pairs) problems.add(kind, describe(pair));
  };
  add('overlap', excesses(intervals));
  add('fence', outOfOrder(intervals));
  const shares = all.map(({ sections }) => sections.length);
  const figures: Record<string, number> = {
    acquisitions: intervals.length,
    'fewest of a worker': Math.min(...shares),
    'most of a worker': Math.max(...shares),
    'longest hold, ms': intervals.reduce((most, { from, to }) => Math.max(most, to - from), 0),
    ...sum,
  };
  for (const [key, list] of Object.entries(waits)) {
    figures[`${key}: acquisitions`] = list.length;
    figures[`${key}: wait p50, ms`] = percentile(list, 50);
    figures[`${key}: wait p99, ms`] = percentile(list, 99);
  }
  figures['overlaps'] = problems.count('overlap');
  figures['stale fences'] = problems.count('fence');
  return verdict(figures, problems.list());
}

export const trial: Trial = {
  name: 'exclusion',
  claim: 'the held weight never exceeds the capacity, and fences only increase',
  full: { seconds: 60, processes: 8, tasks: 8 },
  share: { seconds: 2, processes: 3, tasks: 4 },
  faults: ['release-without-compare', 'no-renewal', 'asks-for-less'],
  run,
};
