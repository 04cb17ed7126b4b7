/** Hand-offs of one fair lock between the tasks of some instances, in one process. */
import { percentile, sleep } from 'holdfast-testkit';
import type { Holdfast } from 'holdfast';
import type { Rounds } from './quorum-costs.js';

/** The result of one load. Times are in ms. */
export interface HandOff {
  readonly rate: number;
  readonly p50: number;
  readonly p99: number;
  /** The longest time between two grants. */
  readonly gap: number;
  /** Rounds for an acquisition with its release. */
  readonly rounds: number;
  /** The acquisitions of the task with the fewest, of those of the task with the most. */
  readonly fewest: number;
}

export interface Load {
  readonly tasks: number;
  /** How long a task holds the lock, in ms. */
  readonly work: number;
  /** How long the load lasts. */
  readonly ms: number;
  readonly rounds: Rounds;
}

/** Ten tasks that work for a moment under the lock. */
export const POLITE = { tasks: 10, work: 1 } as const;

export async function handOffs(
  instances: readonly Holdfast[],
  { tasks, work, ms, rounds }: Load,
): Promise<HandOff> {
  const key = `hand-off ${performance.now()}`;
  const [start, took, gaps] = [performance.now(), [] as number[], [] as number[]];
  const before = rounds.count;
  let [released, granted] = [0, start];
  const task = async (_: unknown, at: number): Promise<number> => {
    const mutex = (instances[at % instances.length] as Holdfast).mutex(key, { fair: true });
    let count = 0;
    for (; performance.now() < start + ms; count++) {
      const lease = await mutex.acquire();
      const now = performance.now();
      if (released > 0) took.push(now - released);
      gaps.push(now - granted);
      granted = now;
      if (work > 0) await sleep(work);
      released = performance.now();
      await lease.release();
    }
    return count;
  };
  const counts = await Promise.all(Array.from({ length: tasks }, task));
  return {
    ...{ rate: (took.length / ms) * 1000, gap: Math.max(...gaps) },
    ...{ p50: percentile(took, 50), p99: percentile(took, 99) },
    rounds: (rounds.count - before) / gaps.length,
    fewest: Math.min(...counts) / Math.max(...counts),
  };
}
