/** The tasks of the processes in a simulation: acquisitions of every kind, at random times. */
import type { Random } from '../base/random.js';
import type { Setting } from './generate.js';
import type { Step, TaskPlan } from './plan.js';

/** The share of each kind of task, drawn once for a simulation. */
interface Mix {
  readonly fair: number;
  readonly owned: number;
  readonly limited: number;
  readonly aborted: number;
  readonly fixed: number;
  readonly forced: number;
  /** Length of a hold, in leases. */
  readonly hold: number;
}

/** The share of keys that are mutexes. */
const MUTEXES = 0.6;

/** The weight of a writer of a read-write lock: the whole capacity. */
const WRITER = 2 ** 30;

export function tasksOf(setting: Setting): TaskPlan[] {
  const random = setting.random.fork('tasks');
  const mix: Mix = {
    fair: random.pick([0, 0, 0.3, 1]),
    owned: random.pick([0, 0, 0, 0.3]),
    limited: random.pick([0.1, 0.5]),
    aborted: random.pick([0, 0.1, 0.4]),
    fixed: random.pick([0, 0.2]),
    forced: random.pick([0, 0, 0.03]),
    hold: random.pick([0.01, 0.1, 1]),
  };
  const tasks: TaskPlan[] = [];
  // waves: some of them start at once, so that they wait for each other
  const waves = random.whole(3, 25);
  for (let wave = 0; wave < waves; wave++) {
    const from = random.next() * setting.busy;
    const size = random.whole(1, 12);
    const width = setting.ttl * random.pick([0.001, 0.1, 2]);
    for (let index = 0; index < size; index++) {
      const at = from + random.next() * width;
      const one = task(random.fork(tasks.length), setting, mix, `a${tasks.length}`, at);
      tasks.push(faced(random.fork(`face/${tasks.length}`), setting, one));
    }
  }
  return tasks;
}

function task(random: Random, setting: Setting, mix: Mix, name: string, at: number): TaskPlan {
  const { ttl: usual } = setting;
  const how = random.chance(mix.forced)
    ? 'force'
    : random.pick(['acquire', 'acquire', 'acquire', 'run', 'run', 'reenter', 'try'] as const);
  const end = random.pick(['release', 'release', 'release', 'twice', 'never'] as const);
  const renew = !(random.chance(mix.fixed) || end === 'never');
  const ttl = Math.round(usual * random.pick([1, 1, 1, 0.5, 2]));
  const hold = usual * mix.hold * random.spread(0.05, 3);
  const limited = random.chance(mix.limited);
  return {
    ...{ name, at, how, end, ttl, renew, primitive: 'mutex', weight: 1, capacity: 1 },
    process: random.pick(setting.processes).name,
    key: random.pick(setting.keys),
    maxHold: renew && random.chance(0.1) ? Math.round(usual * random.between(0.5, 4)) : undefined,
    fair: random.chance(mix.fair),
    owner: random.chance(mix.owned) ? random.pick(['o1', 'o2']) : undefined,
    wait: limited ? Math.round(usual * random.spread(0.01, 10)) : undefined,
    abort: random.chance(mix.aborted) ? usual * random.spread(0.001, 5) : undefined,
    steps: stepsOf(random, hold, usual),
    enters: how === 'reenter',
  };
}

/** True for a key of a mutex, see `faced`. */
export function isMutex(setting: Setting, key: string): boolean {
  return setting.random.fork(`kind/${key}`).next() < MUTEXES;
}

/** Some keys are not mutexes. A holder that may share a key writes to no fenced resource. */
function faced(random: Random, setting: Setting, task: TaskPlan): TaskPlan {
  const kind = setting.random.fork(`kind/${task.key}`);
  const luck = kind.next();
  if (luck < MUTEXES) return task;
  const how = task.how === 'reenter' ? 'run' : task.how;
  const steps = task.steps.filter((step) => step.do !== 'use');
  const other = { ...task, how, steps, owner: undefined };
  if (luck < 0.8) {
    const capacity = kind.whole(2, 5);
    return { ...other, primitive: 'permits', capacity, weight: random.whole(1, capacity) };
  }
  const primitive = random.pick(['read', 'read', 'write'] as const);
  return { ...other, primitive, capacity: WRITER, weight: primitive === 'read' ? 1 : WRITER };
}

function stepsOf(random: Random, hold: number, ttl: number): Step[] {
  const count = random.whole(1, 5);
  const steps: Step[] = [];
  for (let index = 0; index < count; index++) {
    const ms = (hold / count) * random.between(0.3, 1.7);
    const luck = random.next();
    if (luck < 0.08) steps.push({ do: 'work', ms: Math.min(ms, 3 * ttl) });
    else if (luck < 0.16) steps.push({ do: 'extend', ms: ttl * random.between(0.1, 2) });
    else if (luck < 0.24) steps.push({ do: 'ensure', ms: ttl * random.between(0.1, 1) });
    else steps.push({ do: 'rest', ms });
    const late = random.chance(0.2) ? random.spread(1, 2 * ttl) : random.between(0.01, 2);
    steps.push({ do: 'use', late });
  }
  return steps;
}
