/**
 * Locks of stores beside bare changes: uncontended pairs of one process, one variant after the
 * other in short slices, and hand-offs between two processes that take turns.
 */
import { fork } from 'node:child_process';
import { percentile, sleep } from 'holdfast-testkit';
import { now } from './orders.js';
import type { Settings } from './settings.js';

/** Takes a lock, or makes the first of two changes. Resolves to the other half. */
export type Take = () => Promise<() => Promise<unknown>>;

/** Pairs for a while: how many a second, and the processor time of this process for one, in µs. */
interface Measured {
  readonly rate: number;
  readonly cpu: number;
}

/** The slices of a round. The load of a machine changes within a second. */
const SLICES = 5;
/** The first pairs open files and connections, and compile their code. */
const WARM_MS = 3000;

/**
 * Measures pairs, and prints medians: pairs a second, their part of others, and processor time.
 * @param bare the variants that the others are parts of
 */
export async function printPairs(
  takes: ReadonlyMap<string, Take>,
  bare: readonly string[],
  { rounds, sizes }: Settings,
): Promise<void> {
  const measured = new Map<string, Measured[]>([...takes.keys()].map((name) => [name, []]));
  for (const take of takes.values()) await pairsOf(take, WARM_MS);
  for (let slice = 0; slice < rounds * SLICES; slice++) {
    for (const [name, take] of takes) {
      measured.get(name)?.push(await pairsOf(take, (1000 * sizes.seconds) / SLICES));
    }
  }
  const of = (name: string, what: keyof Measured): number =>
    percentile(measured.get(name)?.map((one) => one[what]) ?? [], 50);
  const [width, others] = [Math.max(...[...takes.keys()].map(({ length }) => length)), bare];
  console.log(`uncontended pairs: a second, part of ${others.join(', of ')}, CPU, its part`);
  for (const name of takes.keys()) {
    const parts = others.map((one) => (of(name, 'rate') / of(one, 'rate')).toFixed(3));
    const cpu = of(name, 'cpu').toFixed(0).padStart(5);
    const part = others.map((one) => (of(one, 'cpu') / of(name, 'cpu')).toFixed(3));
    const rate = of(name, 'rate').toFixed(0).padStart(7);
    console.log(
      `  ${name.padEnd(width)} ${rate}  ${parts.join(', ')}  ${cpu} µs  ${part.join(', ')}`,
    );
  }
}

async function pairsOf(take: Take, ms: number): Promise<Measured> {
  const [start, before] = [now(), process.cpuUsage()];
  let count = 0;
  for (; now() - start < ms; count++) await (await take())();
  const { user, system } = process.cpuUsage(before);
  return { rate: (1000 * count) / (now() - start), cpu: (user + system) / count };
}

/** When a turn was asked for, when it began, and when it ended: its release began. */
export type Turn = readonly [asked: number, from: number, to: number];

interface HandOffs {
  /** From the end of a turn to the next one, if that is of the other process. */
  readonly gaps: number[];
  /** From a call to its turn. */
  readonly waits: number[];
  /** Processor time of all processes for a turn, in µs. */
  readonly cpu: number;
}

/** What a process sends. */
interface Report {
  readonly turns: readonly Turn[];
  readonly cpu: number;
}

/** Starts a process for each list of arguments. Each sends its turns before it ends. */
export async function handOffs(
  file: string,
  processes: readonly (readonly string[])[],
): Promise<HandOffs> {
  const workers = processes.map(
    (args) =>
      new Promise<Report>((resolve, reject) => {
        const worker = fork(file, args);
        worker.on('message', resolve);
        worker.on('error', reject);
      }),
  );
  const reports = await Promise.all(workers);
  const all = reports.flatMap(({ turns }, who) => turns.map((turn) => ({ turn, who })));
  all.sort((a, b) => a.turn[1] - b.turn[1]);
  const gaps = all.flatMap(({ turn, who }, at) => {
    const before = all[at - 1];
    return before === undefined || before.who === who ? [] : [turn[1] - before.turn[2]];
  });
  const cpu = reports.reduce((sum, report) => sum + report.cpu, 0) / all.length;
  return { gaps, waits: all.map(({ turn: [asked, from] }) => from - asked), cpu };
}

/** The processor time before the first turn. */
let started: NodeJS.CpuUsage | undefined;

/** Takes turns without a pause, each with 1 ms of work. */
export async function takeTurns(take: Take, ms: number): Promise<Turn[]> {
  await (await take())();
  started = process.cpuUsage();
  const turns: Turn[] = [];
  const end = now() + ms;
  while (now() < end) {
    const asked = now();
    const release = await take();
    const from = now();
    await sleep(1);
    turns.push([asked, from, now()]);
    await release();
  }
  return turns;
}

/** Sends the turns of this process to the one that started it, and ends. */
export function finish(turns: readonly Turn[]): void {
  const { user, system } = process.cpuUsage(started);
  const report: Report = { turns, cpu: user + system };
  process.send?.(report, () => process.exit());
}
