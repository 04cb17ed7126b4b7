/** The steps of a task; each is drawn in proportion to its weight. */
import type { Random } from 'holdfast-trials/support/random';
import type { WorkerSettings } from '../../settings.js';
import type { Workload } from '../workload.js';
import { barrier, condition, latch } from './synchronizers.js';
import { guarded } from './guarded.js';
import { mutex, owned, reentrant } from './mutex.js';
import { allOf, rwLock, semaphore } from './shared.js';
import { election, flight, schedule } from './work.js';

export type Step = (workload: Workload, random: Random) => Promise<void>;

type Steps = readonly (readonly [weight: number, step: Step])[];

const STEPS: Steps = [
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

const ON_POSTGRES: Steps = [...STEPS, [4, guarded]];

/** Draws a step. With a planted fault always the mutex, which shows the fault soonest. */
export function drawStep(random: Random, { fault, store }: WorkerSettings): Step {
  if (fault !== undefined) return mutex;
  const steps = store === 'postgres' ? ON_POSTGRES : STEPS;
  let remaining = random() * steps.reduce((sum, [weight]) => sum + weight, 0);
  for (const [weight, step] of steps) {
    remaining -= weight;
    if (remaining < 0) return step;
  }
  return mutex;
}
