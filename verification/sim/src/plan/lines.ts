/**
 * Lines: tasks of several processes that ask for one mutex, some of them fair, and most in a step
 * with others of their process. Some extend their leases, so the rest of their step asks again. One
 * in twenty seeds has them; the known seeds of mutants are others.
 */
import type { Random } from '../base/random.js';
import type { Setting } from './generate.js';
import type { TaskPlan } from './plan.js';

const KEY = 'line';

export function hasLines(seed: number): boolean {
  return seed % 20 === 2;
}

export function linesOf(setting: Setting): TaskPlan[] {
  const random = setting.random.fork('lines');
  const lines = random.whole(2, 6);
  return Array.from({ length: lines }, (_, line) => {
    const own = random.fork(line);
    const at = own.next() * setting.busy;
    return own.chance(0.5)
      ? pairOf(own, setting, `line${line}`, at)
      : lineOf(own, setting, `line${line}`, at);
  }).flat();
}

function lineOf(random: Random, setting: Setting, name: string, from: number): TaskPlan[] {
  const width = setting.ttl * random.pick([0.02, 0.2]);
  return Array.from({ length: random.whole(3, 10) }, (_, step) => {
    const own = random.fork(step);
    const fair = own.chance(0.6);
    const hold = own.spread(0.0001, 0.05);
    const at = from + own.next() * width;
    return stepOf(own, setting, { name: `${name}.${step}`, at, fair, hold });
  }).flat();
}

/** Behind a lease of its process waits a task that came just after a fair one of another. */
function pairOf(random: Random, setting: Setting, name: string, from: number): TaskPlan[] {
  const { ttl, processes } = setting;
  const [one, other] = [random.pick(processes).name, random.pick(processes).name];
  const fairAt = from + ttl * random.between(0.01, 0.3);
  const at = fairAt + ttl * random.between(0, 0.01);
  const long = { fair: false, hold: random.between(0.4, 2) };
  const short = { fair: false, hold: 0.001 };
  return [
    ...stepOf(random.fork(1), setting, { name: `${name}.0`, at: from, process: one, ...long }),
    ...stepOf(random.fork(2), setting, {
      ...{ name: `${name}.1`, at: fairAt, process: other, fair: true, hold: 0.001 },
    }),
    ...stepOf(random.fork(3), setting, { name: `${name}.2`, at, process: one, ...short }),
  ];
}

interface StepOf {
  readonly name: string;
  readonly at: number;
  readonly fair: boolean;
  /** How long its tasks hold, as a part of the length of a lease. */
  readonly hold: number;
  readonly process?: string;
}

function stepOf(random: Random, setting: Setting, step: StepOf): TaskPlan[] {
  const { ttl, processes } = setting;
  const { name, at, fair, hold, process = random.pick(processes).name } = step;
  return Array.from({ length: random.pick([1, 2, 4]) }, (_, index): TaskPlan => {
    const own = random.fork(index);
    return {
      ...{ name: `${name}/${index}`, process, at, key: KEY, ttl, fair, renew: true },
      ...{ primitive: 'mutex', weight: 1, capacity: 1, owner: undefined, enters: false },
      ...{ how: 'acquire', end: 'release', maxHold: undefined, wait: undefined },
      abort: own.chance(0.1) ? ttl * own.spread(0.0001, 0.5) : undefined,
      steps: [
        ...(own.chance(0.2) ? [{ do: 'extend', ms: 2 * ttl } as const] : []),
        { do: 'rest', ms: ttl * hold },
        { do: 'use', late: own.spread(0.01, 2) },
      ],
    };
  });
}
