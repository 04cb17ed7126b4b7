/** The steps of a task; each is drawn in proportion to its weight. */
import type { Random } from 'holdfast-trials/support/random';
import type { Workload } from '../workload.js';
import { barrier, condition, latch } from './synchronizers.js';
import { mutex, owned, reentrant } from './mutex.js';
import { allOf, rwLock, semaphore } from './shared.js';
import { election, flight, schedule } from './work.js';

export type Step = (workload: Workload, random: Random) => Promise<void>;

const STEPS: readonly (readonly [weight: number, step: Step])[] = [
  [10, mutex],
  [2, owned],
  [2, reentrant],
  [4, rwLock],
  [4, semaphore],
  [2, allOf],
  [4, condition],
  [2, latch],
  [3, barrier],
  [2, election],
  [2, schedule],
  [2, flight],
];

const TOTAL = STEPS.reduce((sum, [weight]) => sum + weight, 0);

/** Draws a step. With a planted fault always the mutex, which shows the fault soonest. */
export function drawStep(random: Random, isPlanted: boolean): Step {
  if (isPlanted) return mutex;
  let remaining = random() * TOTAL;
  for (const [weight, step] of STEPS) {
    remaining -= weight;
    if (remaining < 0) return step;
  }
  return mutex;
}
