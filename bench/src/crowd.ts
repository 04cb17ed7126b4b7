/**
 * A thousand waiters in four processes on one key, with a hold time of 0 ms: the cost of a
 * hand-off, and whether it depends on the number of waiters.
 */
import { percentile, type Server, sleep, spawnWorker, until, type Worker } from 'holdfast-testkit';
import type { ClientName } from './clients.js';
import { spread } from './measure.js';
import type { Report } from './report.js';
import type { Bench } from './settings.js';
import { scriptCalls } from './stats.js';

const PROCESSES = 4;
const WAITERS = 1000;
/** The queue length at which the measurement may start. */
const NEARLY_ALL = WAITERS * 0.98;
/** The time for extra requests at the start: all waiters ask again when a wake channel connects. */
const SETTLE_MS = 500;

/** One acquisition: its fence, and the times of its grant and release, in µs of one clock. */
type EndGeneration = [fence: number, from: number, until: number];

interface Crowd {
  /** Acquisitions during the measurement, in the order of their fences. */
  turns: EndGeneration[];
  calls: number;
  seconds: number;
}

async function measure(
  server: Server,
  client: ClientName,
  fair: boolean,
  seconds: number,
): Promise<Crowd> {
  const workers: Worker[] = [];
  try {
    for (let index = 0; index < PROCESSES; index++) {
      const args = [client, `${server.port}`, `${WAITERS / PROCESSES}`, fair ? 'fair' : 'default'];
      workers.push(spawnWorker(new URL('./crowd-worker.js', import.meta.url), { args }));
    }
    await Promise.all(workers.map((worker) => worker.next('ready', { within: 30_000 })));
    await Promise.all(workers.map((worker) => worker.send({ type: 'start' })));
    const queued = async (): Promise<boolean> =>
      Number(await server.command('ZCARD', 'holdfast:{crowd}:q')) >= NEARLY_ALL;
    await until(queued, { within: 30_000, every: 50, what: 'nearly all waiters in the queue' });
    await sleep(SETTLE_MS);
    const [callsBefore, from] = [await scriptCalls(server), now()];
    await sleep(seconds * 1000);
    const [to, callsAfter] = [now(), await scriptCalls(server)];
    await Promise.all(workers.map((worker) => worker.send({ type: 'stop' })));
    const results = await Promise.all(workers.map((w) => w.next('turns', { within: 60_000 })));
    const all = results.flatMap((message) => message['turns'] as EndGeneration[]);
    const turns = all.filter(([, start]) => start >= from && start < to).sort(([a], [b]) => a - b);
    return { turns, calls: callsAfter - callsBefore, seconds: (to - from) / 1e6 };
  } finally {
    await Promise.all(workers.map((worker) => worker[Symbol.asyncDispose]()));
    await server.command('FLUSHALL');
  }
}

/** Microseconds of a clock that all processes of a machine share. */
function now(): number {
  return Number(process.hrtime.bigint() / 1000n);
}

export async function crowd(bench: Bench, report: Report): Promise<void> {
  const { server } = bench;
  const part = `Hand-off: ${WAITERS} waiters in ${PROCESSES} processes, one key, held for 0 ms`;
  const rounds = Math.min(bench.rounds, 2);
  const seconds = Math.max(1, 2 * bench.seconds);
  for (const client of bench.clients) {
    for (const mode of ['default', 'fair'] as const) {
      const figures = { rate: [] as number[], calls: [] as number[], latency: [] as number[] };
      for (let round = 0; round < rounds; round++) {
        const {
          turns,
          calls,
          seconds: time,
        } = await measure(server, client, mode === 'fair', seconds);
        figures.rate.push(turns.length / time);
        figures.calls.push(calls / turns.length);
        const gaps = turns.slice(1).map((turn, i) => turn[1] - (turns[i] as EndGeneration)[2]);
        if (gaps.some((gap) => gap < 0)) report.fail(`leases overlapped (${client}, ${mode} mode)`);
        if (gaps.length === 0) report.fail(`fewer than two grants (${client}, ${mode} mode)`);
        for (const gap of gaps) figures.latency.push(gap);
      }
      const add = (what: string, unit: string, values: number[], most?: number): void =>
        report.add({
          ...{ part, server: server.name, client, what: `${mode} mode${what}`, unit },
          value: spread(values),
          ...(most === undefined ? {} : { target: { of: 'value' as const, most } }),
        });
      add('', 'acq/s', figures.rate);
      add(': script calls', 'per acq.', figures.calls, 3.1);
      add(': hand-off p50', 'µs', [percentile(figures.latency, 50)]);
      add(': hand-off p99', 'µs', [percentile(figures.latency, 99)]);
    }
  }
}
