/**
 * Conditions, latches and barriers in a simulation, on separate keys: producers and consumers of a
 * stock, latches with counters and waiters, and the parties of barriers. They draw from a separate
 * random source, so the draws of the other tasks do not change.
 */
import type { Random } from '../base/random.js';
import type { Setting } from './generate.js';
import type { Acquirer, TaskPlan } from './plan.js';

/** In the names of those that come to a stock together. */
export const RUSH = 'rush';

/** The largest number of tasks of a key. */
const MOST = 12;

type Maker = (primitive: Acquirer, more?: Partial<TaskPlan>) => TaskPlan;

export function meetingsOf(setting: Setting): TaskPlan[] {
  const random = setting.random.fork('meetings');
  const tasks: TaskPlan[] = [];
  const has = {
    stock: random.chance(0.3),
    latch: random.chance(0.2),
    barrier: random.chance(0.2),
  };
  const maker =
    (own: Random, key: string): Maker =>
    (primitive, more) => {
      const task = { ...someTask(own, setting, `${key}/${tasks.length}`, key), primitive, ...more };
      tasks.push(task);
      return task;
    };
  if (has.stock) stock(random.fork('stock'), maker(random.fork('stock/tasks'), 'stock'));
  const hasRush = has.stock && random.fork('rush').chance(0.6);
  if (has.latch) latch(random.fork('latch'), maker(random.fork('latch/tasks'), 'latch'));
  if (has.barrier) barrier(random.fork('barrier'), maker(random.fork('barrier/tasks'), 'barrier'));
  if (hasRush) rush(random.fork('rush/own'), setting, maker(random.fork('rush/tasks'), 'stock'));
  return tasks;
}

/** Tasks after the faults, so that no waiter waits for an event that cannot occur. */
export function settlingOf(
  tasks: readonly TaskPlan[],
  processes: readonly { readonly name: string }[],
  at: number,
): TaskPlan[] {
  const firsts = ['stock', 'latch'].flatMap((key) => tasks.find((task) => task.key === key) ?? []);
  return firsts.flatMap((one) =>
    processes.map(({ name: process }): TaskPlan => {
      const name = `${one.key}/settle/${process}`;
      const limits = { wait: undefined, abort: undefined, renew: true };
      const own = { ...one, ...limits, name, process, at };
      if (one.key === 'stock') return { ...own, primitive: 'settle' };
      return { ...own, primitive: 'count', weight: one.capacity };
    }),
  );
}

function stock(random: Random, make: Maker): void {
  for (let left = random.whole(2, MOST); left > 0; left--) {
    make('consume');
    if (random.chance(0.7)) make('produce');
  }
}

/** Many of one process at the same time: they hand the lock to each other, and wait again. */
function rush(random: Random, setting: Setting, make: Maker): void {
  const process = random.pick(setting.processes).name;
  const from = random.next() * setting.busy;
  const width = setting.ttl * random.spread(0.01, 0.5);
  for (let left = random.whole(4, 12); left > 0; left--) {
    const name = `stock/${RUSH}${left}`;
    const own = { name, process, at: from + random.next() * width, renew: true, fair: false };
    // one that only holds the lock hands it on without asking the store
    make(random.pick(['consume', 'consume', 'mutex', 'mutex', 'produce'] as const), own);
  }
}

function latch(random: Random, make: Maker): void {
  const capacity = random.whole(1, 6);
  for (let left = capacity; left > 0; left--) make('count', { capacity });
  for (let left = random.whole(1, 4); left > 0; left--) make('latch', { capacity });
}

function barrier(random: Random, make: Maker): void {
  const capacity = random.whole(2, 4);
  for (let left = capacity * random.whole(1, 4); left > 0; left--) make('barrier', { capacity });
}

function someTask(random: Random, setting: Setting, name: string, key: string): TaskPlan {
  const { ttl, busy, processes } = setting;
  return {
    ...{
      name,
      key,
      ttl,
      how: 'acquire',
      primitive: 'mutex',
      end: 'release',
      weight: 1,
      capacity: 1,
    },
    at: random.next() * busy,
    process: random.pick(processes).name,
    ...{ renew: random.chance(0.8), fair: random.chance(0.2) },
    ...{ maxHold: undefined, owner: undefined },
    wait: random.chance(0.4) || key === 'barrier' ? ttl * random.spread(0.1, 20) : undefined,
    abort: random.chance(0.15) ? ttl * random.spread(0.01, 10) : undefined,
    steps: [{ do: 'rest', ms: ttl * random.spread(0.001, 0.7) }],
  };
}
