/**
 * The other primitives, on separate keys: mixed lease lengths, read-write locks that change sides,
 * capacities that change, several keys at once, terms of leaders, scheduled runs, calls by owners,
 * crowds, sprints, calls that share a root, and long queues behind one lease. They draw from a
 * separate random source, so the draws of the other tasks do not change.
 */
import type { Random } from '../base/random.js';
import type { Setting } from './generate.js';
import { KIND_CALLS } from '../work/family/kinds.js';
import { LOOKS } from '../work/family/looks.js';
import type { Change, TaskPlan } from './plan.js';

/** The weight of a writer of a read-write lock. */
const WRITER = 2 ** 30;
/** More acquisitions of one process than one command of the store handles. */
const CROWD = { min: 1001, max: 1150 } as const;

type Maker = (more: Partial<TaskPlan>) => void;
type Group = (random: Random, setting: Setting, make: Maker) => void;

/** Each group: the share of seeds that have it, and how it draws its tasks. */
const GROUPS: Readonly<Record<string, readonly [number, Group]>> = {
  terms: [0.35, terms],
  owned: [0.2, owned],
  shift: [0.25, shift],
  resize: [0.25, resize],
  all: [0.2, all],
  lead: [0.2, lead],
  schedule: [0.25, schedule],
  calls: [0.2, calls],
  sprint: [0.1, sprint],
  crowd: [0.015, crowd],
  idle: [0.06, idle],
  sides: [0.2, sides],
  shared: [0.3, shared],
  kinds: [0.15, kinds],
  sharers: [0.15, sharers],
  forced: [0.15, forced],
  looks: [0.15, looks],
};

/** Whether a seed has sprints: then its processes reserve many fences. */
export function hasSprint(random: Random): boolean {
  return random.fork('family/sprint').chance((GROUPS['sprint'] as (typeof GROUPS)[string])[0]);
}

export function familyOf(setting: Setting): TaskPlan[] {
  const random = setting.random.fork('family');
  const tasks: TaskPlan[] = [];
  for (const [key, [probability, group]] of Object.entries(GROUPS)) {
    const own = random.fork(key);
    if (!own.chance(probability)) continue;
    const luck = own.fork('tasks');
    group(own, setting, (more) => {
      tasks.push({ ...someTask(luck, setting, key, tasks.length), ...more });
    });
  }
  return tasks;
}

function someTask(random: Random, setting: Setting, key: string, number: number): TaskPlan {
  const { ttl, busy, processes } = setting;
  const hold = ttl * random.spread(0.003, 2);
  const renew = random.chance(0.7);
  return {
    ...{ name: `${key}/${number}`, key, ttl, how: 'acquire', primitive: 'mutex', end: 'release' },
    ...{ weight: 1, capacity: 1, renew, fair: random.chance(0.2) },
    at: random.next() * busy,
    process: random.pick(processes).name,
    ...{ maxHold: undefined, owner: undefined },
    wait: random.chance(0.5) ? Math.round(ttl * random.spread(0.02, 10)) : undefined,
    abort: random.chance(0.1) ? ttl * random.spread(0.01, 10) : undefined,
    steps: Array.from({ length: random.whole(1, 4) }, () => ({ do: 'rest', ms: hold / 4 })),
  };
}

/** Some of the times are equal or nearly equal, so that their tasks wait for each other. */
function times(random: Random, setting: Setting): () => number {
  const width = setting.ttl * random.pick([0.01, 0.3, 2]);
  let from = random.next() * setting.busy;
  return () => {
    if (random.chance(0.15)) from = random.next() * setting.busy;
    return from + random.next() * width;
  };
}

/** Leases of very different lengths that follow each other in few processes. */
function terms(random: Random, setting: Setting, make: Maker): void {
  const at = times(random, setting);
  const processes = [random.pick(setting.processes), random.pick(setting.processes)];
  for (let left = random.whole(4, 30); left > 0; left--) {
    const ttl = Math.max(50, Math.round(setting.ttl * random.spread(0.05, 6)));
    const renew = random.chance(0.6);
    const steps: TaskPlan['steps'][number][] = [{ do: 'rest', ms: ttl * random.spread(0.01, 1) }];
    if (random.chance(0.2)) steps.unshift({ do: 'ensure', ms: ttl * random.spread(0.5, 8) });
    steps.push({ do: 'use', late: random.between(0.01, 2) });
    make({
      ...{ at: at(), ttl, renew, steps, process: random.pick(processes).name },
      ...{ how: random.pick(['acquire', 'run', 'try'] as const), fair: random.chance(0.15) },
      end: random.pick(['release', 'release', 'twice', renew ? 'release' : 'never'] as const),
      maxHold: renew && random.chance(0.2) ? Math.round(ttl * random.between(1, 3)) : undefined,
      ...(random.chance(0.5)
        ? { expiring: random.pick([0, ttl * random.between(0.1, 0.97)]) }
        : {}),
    });
  }
}

/**
 * Calls of few processes that share roots. Some end their renewal, have `maxHold`, or hand their
 * lease over. Calls of one task are made in one step of the program.
 */
function shared(random: Random, setting: Setting, make: Maker): void {
  const at = times(random, setting);
  const processes = [random.pick(setting.processes), random.pick(setting.processes)];
  const fair = random.chance(0.5);
  const ttls = [setting.ttl, Math.round(setting.ttl * random.between(0.6, 1.5))] as const;
  const limit = Math.round(setting.ttl * random.between(1, 4));
  const isLimited = random.chance(0.4);
  // some hold for longer than their ttl, so that they need their renewals
  const length =
    setting.ttl * (random.chance(0.6) ? random.spread(0.003, 0.3) : random.between(1, 3));
  const change = (): Change => {
    const ttl = ttls[random.chance(0.25) ? 1 : 0];
    const part = random.between(0.2, 2);
    const stops = random.chance(0.3);
    // the call behind one that ends its renewal needs its own
    const most = stops ? Math.min(length, 0.1 * setting.ttl) : length;
    return {
      ttl,
      ms: most * part,
      ...(isLimited ? { maxHold: limit } : {}),
      ...(stops ? { stops } : {}),
      ...(random.chance(0.15)
        ? { heir: random.pick(setting.processes).name, keeps: setting.ttl * random.spread(0.01, 2) }
        : {}),
    };
  };
  for (let left = random.whole(2, 12); left > 0; left--) {
    const changes = Array.from({ length: random.whole(1, 5) }, change);
    const process = random.pick(processes).name;
    const ttl = Math.max(...changes.map((one) => one.ttl));
    make({ at: at(), primitive: 'shared', fair, renew: true, process, changes, ttl });
  }
}

/** Many acquisitions of few owners: they share a lease, or wait for another owner's lease. */
function owned(random: Random, setting: Setting, make: Maker): void {
  const at = times(random, setting);
  const few = random.pick([1, 2, 4]);
  for (let left = random.whole(5, 40); left > 0; left--) {
    make({ at: at(), owner: `o${random.whole(1, few)}`, wait: undefined });
  }
}

/** Readers and writers that change sides while they hold. */
function shift(random: Random, setting: Setting, make: Maker): void {
  const at = times(random, setting);
  for (let left = random.whole(3, 20); left > 0; left--) {
    const weight = random.pick([1, 1, WRITER]);
    const moves = Array.from({ length: random.whole(1, 4) }, () =>
      random.pick(['none', 'upgrade', 'downgrade'] as const),
    );
    make({ at: at(), primitive: 'shift', capacity: WRITER, weight, moves });
  }
}

/** Owners with two holds that change sides, and readers beside them. */
function sides(random: Random, setting: Setting, make: Maker): void {
  const at = times(random, setting);
  for (let left = random.whole(3, 12); left > 0; left--) {
    const owner = random.chance(0.5) ? `o${left}` : undefined;
    const weight = owner === undefined ? 1 : random.pick([1, WRITER, WRITER]);
    const change = random.pick(['upgrade', 'downgrade'] as const);
    const moves = weight === 1 ? [change] : (['downgrade', 'none', change] as const);
    make({ at: at(), primitive: 'shift', capacity: WRITER, weight, owner, moves });
  }
}

/** Permits that are acquired while the capacity changes. */
function resize(random: Random, setting: Setting, make: Maker): void {
  const at = times(random, setting);
  const capacity = random.whole(2, 6);
  for (let left = random.whole(5, 25); left > 0; left--) {
    const permits = random.chance(0.25) ? { permits: random.whole(1, 6) } : {};
    make({ at: at(), primitive: 'resize', capacity, weight: random.whole(1, 6), ...permits });
  }
}

/** Acquisitions of several keys together, and of one of them alone. */
function all(random: Random, setting: Setting, make: Maker): void {
  const at = times(random, setting);
  const names = Array.from({ length: random.whole(2, 5) }, (_, index) => `all${index}`);
  for (let left = random.whole(3, 15); left > 0; left--) {
    const keys = names.filter(() => random.chance(0.5));
    if (keys.length === 0) keys.push(random.pick(names));
    const how = random.pick(['acquire', 'run', 'try'] as const);
    make({ at: at(), primitive: 'all', key: keys[0] as string, keys, how });
  }
}

function lead(random: Random, setting: Setting, make: Maker): void {
  for (let left = random.whole(1, 8); left > 0; left--) {
    const how = random.pick(['acquire', 'run'] as const);
    const abort = how === 'run' ? { abort: setting.ttl * random.spread(0.1, 20) } : {};
    make({ primitive: 'lead', how, renew: true, fair: true, ...abort });
  }
}

function schedule(random: Random, setting: Setting, make: Maker): void {
  const at = times(random, setting);
  for (let left = random.whole(2, 15); left > 0; left--) {
    const slot = random.chance(0.5) ? { slot: `s${random.whole(1, 3)}` } : {};
    make({ at: at(), primitive: 'schedule', renew: true, fair: true, ...slot });
  }
}

/** Locks by key and owner; a call unlocks some of them during a run. */
function calls(random: Random, setting: Setting, make: Maker): void {
  const at = times(random, setting);
  for (let left = random.whole(2, 15); left > 0; left--) {
    const how = random.pick(['acquire', 'acquire', 'run'] as const);
    const weight = random.whole(1, 4);
    make({ at: at(), primitive: 'calls', how, weight, owner: random.pick(['o1', 'o2']) });
  }
}

/** One process acquires a lock repeatedly, as fast as it can. */
function sprint(random: Random, setting: Setting, make: Maker): void {
  const at = times(random, setting);
  for (let left = random.whole(1, 4); left > 0; left--) {
    const weight = random.whole(10, 150);
    make({ at: at(), primitive: 'sprint', weight, renew: true, wait: undefined });
  }
}

/**
 * Long queues, in which the processes far from the head pause between their polls. Each process
 * queues its calls together, so some have many of others before their first.
 */
function idle(random: Random, setting: Setting, make: Maker): void {
  const from = random.next() * setting.busy;
  const { ttl } = setting;
  // a lease that lasts while all others wait, and then short ones
  const first = ttl * random.spread(0.5, 12);
  const hold = ttl * random.spread(0.001, 0.3);
  const rest = (ms: number): TaskPlan['steps'] => [{ do: 'rest', ms }];
  make({ at: from, renew: true, steps: rest(first), wait: undefined, abort: undefined });
  let at = from;
  for (const { name: process } of setting.processes) {
    at += ttl * random.spread(0.001, 0.3);
    for (let left = random.whole(4, 14); left > 0; left--) {
      at += random.next();
      const limits = random.chance(0.8) ? { wait: undefined, abort: undefined } : {};
      const steps = rest(hold * random.between(0.5, 2));
      make({ ...limits, at, process, steps, fair: true, renew: random.chance(0.9) });
    }
  }
}

/** More acquisitions of one process, or holds of one owner, than one command handles. */
function crowd(random: Random, setting: Setting, make: Maker): void {
  const weight = random.whole(CROWD.min, CROWD.max);
  const process = random.pick(setting.processes).name;
  const owner = random.chance(0.4) ? 'o1' : undefined;
  const limits = { wait: undefined, abort: undefined };
  make({ primitive: 'crowd', weight, process, renew: true, ...limits, owner });
}

/** Calls of different kinds on one key. */
function kinds(random: Random, setting: Setting, make: Maker): void {
  const at = times(random, setting);
  for (let left = random.whole(5, 30); left > 0; left--) {
    const [call, weight] = [random.pick(KIND_CALLS), random.whole(1, 3)];
    const capacity = random.pick([1, 1, 3]);
    make({ at: at(), primitive: 'kinds', call, weight, capacity, renew: true });
  }
}

/** Processes that share a lease for long: some of them die meanwhile. */
function sharers(random: Random, setting: Setting, make: Maker): void {
  const from = random.next() * setting.busy;
  for (let left = random.whole(2, 8); left > 0; left--) {
    const at = from + setting.ttl * random.next();
    const steps: TaskPlan['steps'] = [{ do: 'rest', ms: setting.ttl * random.between(3, 12) }];
    const terms = { owner: 'o1', renew: true, abort: undefined };
    make({ at, primitive: 'sharer', steps, ...terms });
  }
}

/** Holders, and forced releases by id, by holder and of all, some of which wait for their word. */
function forced(random: Random, setting: Setting, make: Maker): void {
  const at = times(random, setting);
  for (let left = random.whole(4, 16); left > 0; left--) {
    const isForce = random.chance(0.35);
    const by = random.pick(['id', 'holder', undefined] as const);
    const wait = random.pick([0, Math.round(setting.ttl * random.spread(0.01, 2))]);
    if (!isForce) make({ at: at(), primitive: 'forced', renew: true });
    else make({ at: at(), primitive: 'forced', how: 'force', wait, ...(by && { by }) });
  }
}

/** Calls that only look, at the keys of other tasks. */
function looks(random: Random, setting: Setting, make: Maker): void {
  const keys = [...setting.keys, 'team', 'terms', 'owned', 'resize', 'kinds'];
  for (let left = random.whole(5, 25); left > 0; left--) {
    make({ primitive: 'look', look: random.pick(Object.keys(LOOKS)), key: random.pick(keys) });
  }
}
