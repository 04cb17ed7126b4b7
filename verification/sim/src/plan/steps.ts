/**
 * A plan of its own: processes with hundreds to thousands of leases in a calm network, and wall
 * clocks that step forward and back. Each forward step of more than a second looks like a suspend:
 * all leases of the process are in doubt at once, and must be verified in batches.
 */
import { Random } from '../base/random.js';
import { machine } from './machines.js';
import type { FaultPlan, Plan, ProcessPlan, TaskPlan } from './plan.js';

/** The ttls for which a process holds its leases. */
const TTLS = { min: 3, max: 8 } as const;
/** The most leases of all processes. */
const LEASES_MAX = 3000;

export function stepsOf(seed: number): Plan {
  const random = new Random(`steps/${seed}`);
  const ttl = Math.round(random.spread(1000, 30_000));
  const latency = random.spread(0.05, 5);
  const machines = ['m1', 'm2'].map((name) => machine(random, name));
  const processes = machines.map(({ name }, index) =>
    processOf(random, { ttl, machine: name, name: `p${index + 1}` }),
  );
  const busy = ttl * random.between(TTLS.min, TTLS.max);
  let left: number = LEASES_MAX;
  const tasks = processes.slice(0, random.whole(1, 2)).map(({ name }) => {
    const weight = Math.round(random.spread(200, left));
    left = Math.max(200, left - weight);
    return fleet(random.fork(name), { process: name, ttl, weight, busy });
  });
  return {
    ...{ seed, profile: 'steps', machines, processes, tasks, calm: busy + 1 },
    network: {
      ...{ latency, jitter: latency * random.between(0.1, 1), spikes: 0, spike: 0 },
      ...{ loose: false, doubled: 0, echo: 1, lost: 0 },
    },
    server: machine(random.fork('server'), 'server'),
    faults: stepping(random.fork('clocks'), {
      busy,
      ttl,
      machines: machines.map(({ name }) => name),
    }),
    end: 2 * busy + 600_000,
  };
}

function processOf(
  random: Random,
  { ttl, name, machine: on }: { ttl: number; name: string; machine: string },
): ProcessPlan {
  const claimWindow = Math.max(300, Math.min(1000, Math.round(ttl / 4)));
  return {
    ...{ name, machine: on, habits: { onLoss: 'rejects', queues: true } },
    options: {
      ...{ ttl, claimWindow, requestTimeout: 1000, unreachableAfter: 5000, localHandOffs: 8 },
      ...{ maxQueue: 10_000, linger: random.pick([0, 30_000]), grace: 1000 },
      retention: Math.max(60_000, 4 * ttl),
    },
  };
}

/** One task that holds many leases at the same time. */
function fleet(
  random: Random,
  { process, ttl, weight, busy }: { process: string; ttl: number; weight: number; busy: number },
): TaskPlan {
  // leases that are acquired at different times are renewed at different times
  const width = ttl * random.pick([0.01, 0.5]);
  return {
    ...{ name: `fleet/${process}`, key: `fleet/${process}`, process, ttl, weight, capacity: 1 },
    ...{ primitive: 'fleet', how: 'acquire', end: 'release', renew: true, fair: false, at: 1 },
    ...{ maxHold: undefined, owner: undefined, wait: undefined, abort: undefined },
    steps: [
      { do: 'rest', ms: width },
      { do: 'rest', ms: busy - width },
    ],
  };
}

function stepping(
  random: Random,
  { busy, ttl, machines }: { busy: number; ttl: number; machines: readonly string[] },
): FaultPlan[] {
  const faults = Array.from({ length: random.whole(2, 8) }, (_, index): FaultPlan => {
    const own = random.fork(index);
    // more than a second, which looks like a suspend, and often about a ttl or more
    const size = own.chance(0.2) ? own.spread(1, 1000) : own.spread(1001, 10 * ttl + 10_000);
    const step = own.chance(0.7) ? size : -size;
    const at = busy * own.between(0.15, 0.95);
    return { kind: 'set-clock', at, machine: own.pick(machines), step };
  });
  return faults.sort((a, b) => a.at - b.at);
}
