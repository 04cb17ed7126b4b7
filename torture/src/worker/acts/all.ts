/** What a task may do next, each as often as its weight. */
import type { Random } from 'holdfast-trials/support/random';
import type { Play } from '../play.js';
import { barrier, condition, latch } from './meetings.js';
import { mutex, owned, reentrant } from './mutex.js';
import { allOf, rwLock, semaphore } from './shared.js';
import { election, flight, schedule } from './work.js';

export type Act = (play: Play, random: Random) => Promise<void>;

const ACTS: readonly (readonly [weight: number, act: Act])[] = [
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

const TOTAL = ACTS.reduce((sum, [weight]) => sum + weight, 0);

/** One of them; with a fault planted the mutex only, which has to show it in a short time. */
export function drawAct(random: Random, isPlanted: boolean): Act {
  if (isPlanted) return mutex;
  let left = random() * TOTAL;
  for (const [weight, act] of ACTS) {
    left -= weight;
    if (left < 0) return act;
  }
  return mutex;
}
