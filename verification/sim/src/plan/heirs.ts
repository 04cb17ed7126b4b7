/**
 * A usual plan, and read-write leases that are handed over to another process, often after a change
 * of their side. Readers beside them show a holder that may do more than the store knows. The
 * replies to some processes are lost for a while, so that some changes stay without an answer.
 */
import { Random } from '../base/random.js';
import type { FaultPlan, Plan, TaskPlan } from './plan.js';

/** The weight of a writer of a read-write lock. */
const WRITER = 2 ** 30;
const MOVES = ['none', 'upgrade', 'downgrade', 'downgrade'] as const;

export function heirsOf(plan: Plan): Plan {
  const random = new Random(`heirs/${plan.seed}`);
  const [{ options }] = plan.processes as [Plan['processes'][number]];
  const { ttl } = options;
  const names = plan.processes.map(({ name }) => name);
  const busy = Math.max(...plan.tasks.map(({ at }) => at));
  const tasks: TaskPlan[] = [];
  const mutes: FaultPlan[] = [];
  for (let left = random.whole(3, 10); left > 0; left--) {
    const from = random.next() * busy;
    for (let several = random.whole(1, 6); several > 0; several--) {
      const isHanded = random.chance(0.6);
      const weight = isHanded ? random.pick([1, WRITER, WRITER]) : 1;
      const process = random.pick(names);
      const heir = { heir: random.pick(names), keeps: ttl * random.spread(0.01, 3) };
      const at = from + ttl * random.spread(0.001, 3);
      const rest = ttl * random.spread(0.001, 0.5);
      tasks.push({
        ...{ name: `heir/${tasks.length}`, key: 'heirs', process, at, ttl, weight },
        ...{ primitive: 'shift', how: 'acquire', capacity: WRITER, end: 'release' },
        ...{ renew: true, fair: random.chance(0.2), maxHold: undefined, owner: undefined },
        ...{ wait: undefined, abort: undefined, steps: [{ do: 'rest', ms: rest }] },
        moves: Array.from({ length: random.whole(1, 3) }, () => random.pick(MOVES)),
        ...(isHanded ? heir : {}),
      });
      if (plan.profile === 'calm' || !isHanded || !random.chance(0.3)) continue;
      const ms = ttl * random.spread(0.05, 2);
      mutes.push({ kind: 'mute', process, at: at + rest * random.next(), ms });
    }
  }
  const faults = [...plan.faults, ...mutes].sort((a, b) => a.at - b.at);
  const last = mutes.reduce((latest, { at }) => Math.max(latest, at + 2 * ttl), 0);
  const calm = Math.max(plan.calm, last + 1);
  const end = plan.end + (calm - plan.calm) + tasks.length * 8 * ttl;
  return { ...plan, tasks: [...plan.tasks, ...tasks], faults, calm, end };
}
