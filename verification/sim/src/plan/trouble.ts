/**
 * Faults that are drawn for some tasks, at times at which these run: faults at random times would
 * rarely hit them.
 */
import type { Random } from '../base/random.js';
import type { Setting } from './generate.js';
import { RUSH } from './meetings.js';
import type { FaultPlan, TaskPlan } from './plan.js';
import { TEAM } from './team.js';
import { TURN } from './turns.js';

/** Only tasks without a history may lose their key: a history cannot tell it from a mistake. */
const FORGOTTEN: ReadonlySet<string> = new Set<TaskPlan['primitive']>([
  ...(['shift', 'resize', 'all', 'lead', 'schedule', 'sprint'] as const),
]);
/** Tasks that repeatedly ask whether their lease is held. */
const ASKING: ReadonlySet<string> = new Set<TaskPlan['primitive']>(['lead', 'all']);
/** Tasks that are in progress when their process closes. */
const CLOSING: ReadonlySet<string> = new Set<TaskPlan['primitive']>([
  ...(['mutex', 'consume', 'produce', 'crowd', 'lead', 'schedule'] as const),
]);

/** How long a sprint may take that takes long. */
const SPRINT_MS = 200;

/** @param others the faults at random times */
export function troubleOf(
  setting: Setting,
  tasks: readonly TaskPlan[],
  others: readonly FaultPlan[],
): FaultPlan[] {
  const random = setting.random.fork('trouble');
  // a server that loses its memory and whose clock is set back may repeat a fence
  const isSet = others.some((one) => one.kind === 'set-clock' && one.machine === 'server');
  const faults = [
    ...(isSet ? [] : forgetting(random.fork('forget'), setting, tasks)),
    ...stepping(random.fork('step'), setting, tasks),
    ...closing(random.fork('close'), setting, tasks),
    ...muting(random.fork('mute'), setting, tasks),
    ...breaking(random.fork('break'), setting, tasks),
    ...napping(random.fork('nap'), setting, tasks),
    ...ending(random.fork('end'), setting, tasks),
    ...confusing(random.fork('confuse'), setting, tasks),
  ];
  return faults.sort((a, b) => a.at - b.at);
}

/** A key is deleted soon after a command on it. */
function forgetting(random: Random, setting: Setting, tasks: readonly TaskPlan[]): FaultPlan[] {
  const some = tasks.filter(({ primitive }) => FORGOTTEN.has(primitive));
  if (some.length === 0 || !random.chance(0.6)) return [];
  const sprints = some.filter(({ primitive }) => primitive === 'sprint');
  return Array.from({ length: random.whole(1, 3) }, (_, index) => {
    const task = random.pick(index === 0 && sprints.length > 0 ? sprints : some);
    // a sprint is short
    const isSprint = task.primitive === 'sprint';
    const soon = isSprint ? random.spread(1, SPRINT_MS) : setting.ttl * random.spread(0.0005, 2);
    const at = task.at + soon;
    return { kind: 'forget', at, key: random.pick(task.keys ?? [task.key]) };
  });
}

/** The wall clock of a holder's machine is set forward without a suspend. */
function stepping(random: Random, setting: Setting, tasks: readonly TaskPlan[]): FaultPlan[] {
  const some = tasks.filter(({ primitive, how }) => ASKING.has(primitive) || how === 'reenter');
  if (some.length === 0 || !random.chance(0.3)) return [];
  return Array.from({ length: random.whole(1, 4) }, () => {
    const { at, process } = random.pick(some);
    const machine = setting.processes.find(({ name }) => name === process)?.machine ?? '';
    const when = at + setting.ttl * random.spread(0.001, 1);
    return { kind: 'set-clock', at: when, machine, step: random.spread(1001, 30_000) };
  });
}

/** Replies are lost while tasks of one process share a root. */
function muting(random: Random, setting: Setting, tasks: readonly TaskPlan[]): FaultPlan[] {
  const some = tasks.filter(({ name }) => name.startsWith(TEAM));
  if (some.length === 0 || !random.chance(0.5)) return [];
  return Array.from({ length: random.whole(1, 3) }, () => {
    const { at: from, process } = random.pick(some);
    const at = from + setting.ttl * random.spread(0.001, 1);
    return { kind: 'mute', at, ms: setting.ttl * random.spread(0.1, 4), process };
  });
}

/** A client is out of step while tasks of its process run. */
function confusing(random: Random, setting: Setting, tasks: readonly TaskPlan[]): FaultPlan[] {
  if (tasks.length === 0 || !random.chance(0.2)) return [];
  return Array.from({ length: random.whole(1, 4) }, () => {
    const { at: from, process } = random.pick(tasks);
    const at = from + setting.ttl * random.spread(0.0005, 0.5);
    return { kind: 'confuse', at, ms: setting.ttl * random.spread(0.05, 2), process };
  });
}

/** A machine is suspended while one of the tasks that share a root holds. */
function napping(random: Random, setting: Setting, tasks: readonly TaskPlan[]): FaultPlan[] {
  const some = tasks.filter(({ name }) => name.startsWith(TEAM));
  if (some.length === 0 || !random.chance(0.3)) return [];
  return Array.from({ length: random.whole(1, 3) }, () => {
    const { at: from, process, ttl } = random.pick(some);
    const machine = setting.processes.find(({ name }) => name === process)?.machine ?? '';
    const at = from + setting.ttl * random.spread(0.0005, 0.3);
    return { kind: 'sleep', at, ms: 1100 + ttl * random.between(0.1, 2), machine };
  });
}

/** A connection breaks while calls lock and unlock by name: a lock may have no reply yet. */
function breaking(random: Random, setting: Setting, tasks: readonly TaskPlan[]): FaultPlan[] {
  const some = tasks.filter(({ primitive }) => primitive === 'calls');
  if (some.length === 0 || !random.chance(0.5)) return [];
  return Array.from({ length: random.whole(1, 6) }, () => {
    const { at: from, process } = random.pick(some);
    const at = from + setting.ttl * random.spread(0.0005, 1);
    return { kind: 'reset', at, process, which: 'commands', lingers: 0, unnoticed: 1 };
  });
}

/** A process closes at once while requests of one step are under way. */
function ending(random: Random, setting: Setting, tasks: readonly TaskPlan[]): FaultPlan[] {
  const some = tasks.filter(({ name, abort }) => name.startsWith(TURN) && abort !== undefined);
  if (some.length === 0 || !random.chance(0.4)) return [];
  return Array.from({ length: random.whole(1, 3) }, () => {
    const { at, process, abort = 0 } = random.pick(some);
    const soon = abort + random.pick([0, setting.ttl * random.spread(0.0001, 0.02)]);
    return { kind: 'close', at: at + soon, process, grace: 0 };
  });
}

/** The store stops answering a process, which closes at that time or later. */
function closing(random: Random, setting: Setting, tasks: readonly TaskPlan[]): FaultPlan[] {
  const some = tasks.filter(({ primitive }) => CLOSING.has(primitive));
  const rush = some.filter(({ name }) => name.includes(RUSH));
  if (some.length === 0 || !random.chance(rush.length > 0 ? 0.7 : 0.3)) return [];
  return Array.from({ length: random.whole(1, 2) }).flatMap((_, index): FaultPlan[] => {
    const { at: from, process } = random.pick(index === 0 && rush.length > 0 ? rush : some);
    const at = from + setting.ttl * random.spread(0.001, 1);
    const ms = setting.ttl * random.spread(0.01, 1);
    const machine = setting.processes.find(({ name }) => name === process)?.machine ?? '';
    const silence: FaultPlan = random.chance(0.5)
      ? { kind: 'stop-server', at, ms }
      : { kind: 'cut', at, ms, machine, way: random.pick(['up', 'down', 'both'] as const) };
    const grace = random.chance(0.5) ? { grace: 0 } : {};
    const closes = at + ms * random.between(0.1, 1.2);
    return [silence, { kind: 'close', at: closes, process, ...grace }];
  });
}
