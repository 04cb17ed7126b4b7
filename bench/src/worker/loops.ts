/** Concurrent loops of acquire and release, with the checks of exclusion and fairness. */
import { type LoopsOrder, type LoopsResult, now } from '../orders.js';
import type { Held, Library } from './library.js';
import { countCommands, sentCommands } from './traffic.js';

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

export async function loops(library: Library, order: LoopsOrder): Promise<LoopsResult> {
  const record = new Record(order);
  countCommands(order.count);
  const cpu = process.cpuUsage();
  const start = now();
  const end = start + order.ms;
  // a polite task may wait for an acquisition that never comes
  const timer = setTimeout(() => record.turn.end(), order.ms + 20);
  await Promise.all(
    Array.from({ length: order.tasks }, (_, task) =>
      order.keys === 'own'
        ? alone(library, order, record, task, end)
        : together(library, order, record, task, end),
    ),
  );
  clearTimeout(timer);
  const { user, system } = process.cpuUsage(cpu);
  const commands = sentCommands();
  countCommands(false);
  const { result } = record;
  const inTime = result.tasks.reduce((sum, one) => sum + one, 0);
  const [counted, ms] = inTime === 0 ? [result.all, now() - start] : [inTime, order.ms];
  return { ...result, counted, ms, cpu: user + system, commands };
}

/** A key for each task: nothing but the pairs, because the record itself would cost time. */
async function alone(
  library: Library,
  { hold, stagger }: LoopsOrder,
  { result }: Record,
  task: number,
  end: number,
): Promise<void> {
  const key = `bench:${task}`;
  let pairs = 0;
  let fence: unknown;
  for (;;) {
    const held = await library.acquire(key);
    ({ fence } = held);
    if (hold > 0) await sleep(hold);
    await held.release();
    result.all += 1;
    if (now() > end) break;
    pairs += 1;
    if (stagger > 0) await sleep(Math.random() * stagger);
  }
  result.tasks[task] = pairs;
  result.fence ||= fence !== undefined;
}

/** One key for all tasks. */
async function together(
  library: Library,
  { hold, polite }: LoopsOrder,
  record: Record,
  task: number,
  end: number,
): Promise<void> {
  for (;;) {
    const asked = now();
    const held = await library.acquire('bench:hot');
    record.acquired(task, asked, held);
    if (hold > 0) await sleep(hold);
    record.releases();
    await held.release();
    if (now() > end) return;
    record.result.tasks[task] = (record.result.tasks[task] as number) + 1;
    if (polite && record.last === task) await record.turn.over;
  }
}

/** Resolves at the next acquisition. */
class Turn {
  end = (): void => undefined;
  readonly over: Promise<void> = new Promise((resolve) => {
    this.end = resolve;
  });
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

class Record {
  readonly result: Mutable<LoopsResult>;
  /** The task of the last acquisition. */
  last = -1;
  turn: Turn = new Turn();
  readonly #intervals: boolean;
  #inside = 0;
  #fence = -Infinity;
  #from = 0;
  #released = Number.NaN;

  constructor({ tasks, intervals }: LoopsOrder) {
    this.#intervals = intervals;
    this.result = {
      ...{
        tasks: Array.from({ length: tasks }, () => 0),
        all: 0,
        counted: 0,
        ms: 0,
        cpu: 0,
        violations: 0,
      },
      ...{ longestWait: 0, gaps: [], intervals: [], commands: 0, fence: false },
    };
  }

  acquired(task: number, asked: number, held: Held): void {
    const { result } = this;
    const from = now();
    this.#from = from;
    if (this.#inside > 0) result.violations += 1;
    if (typeof held.fence === 'number') {
      if (held.fence <= this.#fence) result.violations += 1;
      this.#fence = held.fence;
    }
    this.#inside += 1;
    result.all += 1;
    result.longestWait = Math.max(result.longestWait, from - asked);
    result.fence ||= held.fence !== undefined;
    if (this.#intervals && this.last !== task && this.#released > asked) {
      result.gaps.push(from - this.#released);
    }
    this.last = task;
    this.turn.end();
    this.turn = new Turn();
  }

  releases(): void {
    this.#inside -= 1;
    this.#released = now();
    if (this.#intervals) this.result.intervals.push(this.#from, this.#released);
  }
}
