/**
 * Teams: tasks of one process that ask for the same mutex with the same terms, at about the same
 * time. They share a root, see `docs/decisions/0010-roots.md`. Their draws come from a separate
 * random source, so the draws of the other tasks do not depend on them.
 */
import type { Random } from '../base/random.js';
import type { Setting } from './generate.js';
import { isMutex } from './tasks.js';
import type { TaskPlan } from './plan.js';

/** The beginning of the names of these tasks. */
export const TEAM = 'team';

export function teamsOf(setting: Setting): TaskPlan[] {
  const random = setting.random.fork('teams');
  const tasks: TaskPlan[] = [];
  if (random.chance(0.4)) return tasks;
  const keys = [...setting.keys.filter((key) => isMutex(setting, key)), 'team'];
  const waves = random.whole(1, 6);
  for (let wave = 0; wave < waves; wave++) {
    const own = random.fork(wave);
    const at = own.next() * setting.busy;
    const key = own.pick(keys);
    const teams = own.whole(1, 3);
    for (let team = 0; team < teams; team++) {
      tasks.push(...teamOf(own.fork(team), setting, { at, key, name: `${TEAM}${wave}.${team}` }));
    }
  }
  return tasks;
}

function teamOf(
  random: Random,
  { processes, ttl: usual }: Setting,
  { at, key, name }: { readonly at: number; readonly key: string; readonly name: string },
): TaskPlan[] {
  const process = random.pick(processes).name;
  const ttl = Math.round(usual * random.pick([1, 1, 0.5]));
  const maxHold = random.chance(0.1) ? Math.round(3 * usual) : undefined;
  const hold = usual * random.pick([0.0001, 0.001, 0.02, 0.3, 2]);
  const width = usual * random.pick([0, 0.001, 0.1]);
  const limited = random.pick([0, 0, 0.4]);
  const aborted = random.pick([0, 0, 0.4, 1]);
  return Array.from({ length: random.whole(2, 12) }, (_, index): TaskPlan => {
    const own = random.fork(index);
    const early = usual * own.spread(0.0001, 1);
    return {
      ...{ name: `${name}/${index}`, process, key, ttl, maxHold, renew: true, fair: false },
      ...{ primitive: 'mutex', weight: 1, capacity: 1, owner: undefined, enters: false },
      at: at + own.next() * width,
      how: own.pick(['acquire', 'acquire', 'run']),
      end: own.pick(['release', 'release', 'release', 'twice']),
      wait: own.chance(limited) ? Math.max(1, Math.round(early)) : undefined,
      abort: own.chance(aborted) ? early : undefined,
      steps: own.chance(0.3)
        ? [{ do: 'use', late: own.spread(0.01, usual) }]
        : [
            { do: 'rest', ms: hold * own.between(0.1, 2) },
            { do: 'use', late: own.between(0.01, 2) },
          ],
    };
  });
}
