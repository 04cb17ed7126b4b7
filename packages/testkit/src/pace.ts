/**
 * Limits of time that follow the load of the machine: a limit of 150 ms is one of 600 ms while a
 * process gets a quarter of a core. For limits within which a server must answer, and for leases
 * that must last. A time after which something has to end needs none of this.
 */

import { availableParallelism, loadavg } from 'node:os';

const SAMPLE_MS = 40;
/** Programs for each processor that do not delay each other much: most of them wait. */
const WAITING = 2;
/** So that no test reaches the time limit of all tests, which is paced too. */
export const MOST = 6;

let pace: number | undefined;
let measuredAt = 0;

/**
 * The time that some work of this process takes, as a multiple of its processor time. It may fall
 * into a calm moment, so the load of the last minute counts too. At most {@link MOST}.
 */
export function measuredPace(): number {
  const start = performance.now();
  const before = process.cpuUsage();
  let used = 0;
  while (used < SAMPLE_MS) {
    const { user, system } = process.cpuUsage(before);
    used = (user + system) / 1000;
  }
  const [lastMinute = 0] = loadavg();
  const waits = lastMinute / (WAITING * availableParallelism());
  return Math.min(MOST, Math.max(1, waits, (performance.now() - start) / used));
}

/**
 * A limit of so many milliseconds on an idle machine, in whole milliseconds on this one. A process
 * measures at the first call, and again after `forgetPace`: limits of one test file fit each other.
 */
export function paced(ms: number): number {
  if (pace === undefined) {
    pace = measuredPace();
    measuredAt = performance.now();
  }
  return Math.ceil(ms * pace);
}

/**
 * Before each test file, and before a test that follows others for long: the load of the machine
 * has changed since then. A pace that is younger than `age` ms stays.
 */
export function forgetPace(age = 0): void {
  if (performance.now() - measuredAt >= age) pace = undefined;
}
