/**
 * Turns: a process asks for several mutexes with the same terms in one step of its program. The
 * store sends these requests with one call. Other tasks ask for the same mutexes at about the same
 * time, and some requests are aborted soon. Their draws come from a separate random source.
 */
import type { Random } from '../base/random.js';
import type { Setting } from './generate.js';
import { isMutex } from './tasks.js';
import type { TaskPlan } from './plan.js';

/** The beginning of the names of these tasks; the rest is the wave, the step, `@` and the key. */
export const TURN = 'turn';

/** Requests of one step have the same label: the metadata is one of the terms. */
export function labelOf(name: string): string {
  const at = name.indexOf('@');
  return at < 0 ? name : name.slice(0, at + 1);
}

/** The name of the task that uses a label for a key. */
export function nameOf(label: string, key: string): string {
  return label.endsWith('@') ? `${label}${key}` : label;
}

export function turnsOf(setting: Setting): TaskPlan[] {
  const random = setting.random.fork('turns');
  if (random.chance(0.4)) return [];
  const keys = [...setting.keys.filter((key) => isMutex(setting, key)), 'turn0', 'turn1', 'turn2'];
  return Array.from({ length: random.whole(1, 6) }, (_, wave) =>
    waveOf(random.fork(wave), setting, keys, `${TURN}${wave}`),
  ).flat();
}

function waveOf(
  random: Random,
  { processes, ttl: usual, busy }: Setting,
  keys: readonly string[],
  name: string,
): TaskPlan[] {
  const from = random.next() * busy;
  const width = usual * random.pick([0, 0.0002, 0.002, 0.05]);
  const fair = random.chance(0.8);
  const ttl = Math.round(usual * random.pick([1, 1, 0.5]));
  const hold = usual * random.pick([0.0005, 0.01, 0.2]);
  const aborted = random.pick([0, 0.3, 0.7]);
  const few = random.chance(0.5) ? [random.pick(processes)] : processes;
  return Array.from({ length: random.whole(2, 8) }, (_, step) => {
    const own = random.fork(step);
    const [process, at] = [own.pick(few).name, from + own.next() * width];
    const first = own.whole(0, keys.length - 1);
    const count = own.whole(1, Math.min(4, keys.length));
    return Array.from({ length: count }, (__, index): TaskPlan => {
      const key = keys[(first + index) % keys.length] as string;
      const early = usual * own.spread(0.0001, 0.1);
      return {
        ...{ name: `${name}.${step}@${key}`, process, at, key, ttl, fair, renew: true },
        ...{ primitive: 'mutex', weight: 1, capacity: 1, owner: undefined, enters: false },
        ...{ how: 'acquire', end: 'release', maxHold: undefined, wait: undefined },
        abort: own.chance(aborted) ? early : undefined,
        steps: [
          { do: 'rest', ms: hold * own.between(0.1, 2) },
          { do: 'use', late: own.between(0.01, 2) },
        ],
      };
    });
  }).flat();
}
