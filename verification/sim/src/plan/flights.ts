/**
 * A usual plan, and callers of single flights: some call in one step of their process, some give
 * up, and some computations fail. A process may also close while its callers begin.
 */
import { Random } from '../base/random.js';
import type { FaultPlan, Plan, TaskPlan } from './plan.js';

const KEYS = ['flight0', 'flight1'] as const;

export function flightsOf(plan: Plan): Plan {
  const random = new Random(`flights/${plan.seed}`);
  const [{ options }] = plan.processes as [Plan['processes'][number]];
  const { ttl } = options;
  const busy = Math.max(...plan.tasks.map(({ at }) => at));
  const names = plan.processes.map(({ name }) => name);
  const tasks: TaskPlan[] = [];
  const closes: FaultPlan[] = [];
  for (let left = random.whole(3, 12); left > 0; left--) {
    const key = random.pick(KEYS);
    const at = random.next() * busy;
    const width = random.pick([0, 0, ttl * 0.01, ttl]);
    const fresh = ttl * random.spread(0.01, 10);
    const some = [random.pick(names), random.pick(names)];
    for (let callers = random.whole(1, 8); callers > 0; callers--) {
      const process = random.pick(some);
      const name = `flight/${tasks.length}`;
      tasks.push({
        ...callOf(random, ttl),
        name,
        process,
        key,
        at: at + random.next() * width,
        fresh,
      });
    }
    // while it asks, or while its wake channel is opened
    if (plan.profile === 'calm' || !random.chance(0.1)) continue;
    const after = random.spread(0.01, ttl);
    closes.push({ kind: 'close', at: at + after, process: random.pick(some), grace: 0 });
  }
  const faults = [...plan.faults, ...closes].sort((a, b) => a.at - b.at);
  const last = closes.reduce((latest, { at }) => Math.max(latest, at), 0);
  const calm = Math.max(plan.calm, last + 1);
  const end = plan.end + (calm - plan.calm) + tasks.length * 4 * ttl;
  return { ...plan, tasks: [...plan.tasks, ...tasks], faults, calm, end };
}

function callOf(random: Random, ttl: number): Omit<TaskPlan, 'name' | 'process' | 'key' | 'at'> {
  return {
    ...{ ttl, primitive: 'flight', how: random.pick(['run', 'acquire'] as const) },
    ...{ weight: 1, capacity: 1, renew: true, fair: false, end: 'release' },
    ...{ maxHold: undefined, owner: undefined },
    wait: random.chance(0.4) ? Math.round(ttl * random.spread(0.01, 4)) : undefined,
    abort: random.chance(0.2) ? ttl * random.spread(0.001, 2) : undefined,
    fails: random.chance(0.2),
    steps: [{ do: 'rest', ms: ttl * random.spread(0.001, 2) }],
  };
}
