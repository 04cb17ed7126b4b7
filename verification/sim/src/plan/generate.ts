/**
 * A plan from a seed: the speed of this world, its network, its processes, their tasks, and the
 * faults.
 */
import { Random } from '../base/random.js';
import type { Network } from '../net/path.js';
import { familyOf, hasSprint } from './family.js';
import { faultsOf } from './faults.js';
import { flightsOf } from './flights.js';
import { gatesOf } from './gates.js';
import { heirsOf } from './heirs.js';
import { machine } from './machines.js';
import { meetingsOf, settlingOf } from './meetings.js';
import { overloadOf } from './overload.js';
import { hasLines, linesOf } from './lines.js';
import type { MachinePlan, Plan, ProcessPlan } from './plan.js';
import { stepsOf } from './steps.js';
import { tasksOf } from './tasks.js';
import { teamsOf } from './team.js';
import { troubleOf } from './trouble.js';
import { turnsOf } from './turns.js';

/** Ten leases after the faults: by then each signal has woken a waiter. */
const SETTLED_MS = 60_000;

/** The largest number of hand-offs inside a process. */
const MANY_HAND_OFFS = 1000;

/** Inputs for the rest of a plan. */
export interface Setting {
  readonly random: Random;
  /** Usual length of a lease. */
  readonly ttl: number;
  /** When the last task begins. */
  readonly busy: number;
  readonly keys: readonly string[];
  readonly processes: readonly ProcessPlan[];
  readonly machines: readonly MachinePlan[];
}

export const PROFILES = ['calm', 'faults', 'loose', 'amnesia'] as const;
export type Profile = (typeof PROFILES)[number];

/** The share of the seeds for each profile. */
const SHARES: readonly Profile[] = [
  ...(['calm', 'faults', 'faults', 'faults', 'faults'] as const),
  ...(['faults', 'loose', 'loose', 'amnesia', 'amnesia'] as const),
];

/** Plans of their own, each with its share of the seeds. */
const SPECIAL: Readonly<Record<Special, { share: number; plan: (seed: number) => Plan }>> = {
  steps: { share: 0.01, plan: stepsOf },
  overload: { share: 0.01, plan: overloadOf },
  gates: { share: 0, plan: gatesOf },
  bursts: { share: 0, plan: burstsOf },
  flights: { share: 0, plan: (seed) => flightsOf(usualOf(seed)) },
  heirs: { share: 0, plan: (seed) => heirsOf(usualOf(seed)) },
};
export type Special = 'bursts' | 'flights' | 'gates' | 'heirs' | 'overload' | 'steps';

export function isSpecial(name: string): name is Special {
  return name in SPECIAL;
}

/** @param special a plan of this sort, instead of the one that the seed draws */
export function planOf(seed: number, special?: Special): Plan {
  if (special !== undefined) return SPECIAL[special].plan(seed);
  let luck = new Random(`special/${seed}`).next();
  for (const { share, plan } of Object.values(SPECIAL)) {
    if (luck < share) return plan(seed);
    luck -= share;
  }
  return usualOf(seed);
}

function usualOf(seed: number): Plan {
  const random = new Random(`plan/${seed}`);
  const profile = random.pick(SHARES);
  const ttl = Math.round(random.fork('pace').spread(300, 60_000));
  const network = networkOf(random.fork('weather'), profile, ttl);
  const { machines, processes: usual } = crew(random.fork('crew'), ttl, profile, network.latency);
  const keys = Array.from({ length: random.whole(1, 4) }, (_, index) => `k${index}`);
  const processes = hasSprint(random) ? usual.map(handing) : usual;
  const setting = { random, ttl, busy: ttl * random.between(10, 40), keys, processes, machines };
  const meetings = meetingsOf(setting);
  const family = familyOf(setting);
  const own = [...tasksOf(setting), ...teamsOf(setting), ...turnsOf(setting)];
  if (hasLines(seed)) own.push(...linesOf(setting));
  const wanted = [...own, ...meetings, ...family];
  const faults = profile === 'calm' ? [] : faultsOf(setting, profile);
  if (profile === 'faults') faults.push(...troubleOf(setting, wanted, faults));
  faults.sort((a, b) => a.at - b.at);
  const over = faults.map((fault) => fault.at + ('ms' in fault ? fault.ms : 0));
  const calm = Math.max(setting.busy, ...over) + 1;
  const settling = settlingOf(meetings, processes, calm + 10 * ttl + SETTLED_MS);
  const tasks = [...wanted, ...settling];
  const slowest = Math.max(...tasks.map(({ ttl: own, maxHold }) => Math.max(own, maxHold ?? 0)));
  return {
    ...{ seed, profile, network, machines, processes, tasks, faults, calm },
    server: {
      ...machine(random.fork('server'), 'server'),
      blind: random.fork('blind').chance(0.15),
    },
    end: calm + 60 * slowest + tasks.length * slowest + 600_000,
  };
}

/** As usual, but few requests of a process are under way at a time: most wait for their turn. */
function burstsOf(seed: number): Plan {
  const plan = usualOf(seed);
  const random = new Random(`bursts/${seed}`);
  const processes = plan.processes.map((process) => ({
    ...process,
    options: { ...process.options, maxRequests: random.pick([1, 1, 2, 4]) },
  }));
  return { ...plan, processes };
}

/** A process that reserves many fences with each grant. */
function handing(process: ProcessPlan): ProcessPlan {
  return { ...process, options: { ...process.options, localHandOffs: MANY_HAND_OFFS } };
}

function crew(
  random: Random,
  ttl: number,
  profile: Profile,
  latency: number,
): { machines: readonly MachinePlan[]; processes: readonly ProcessPlan[] } {
  const machines = Array.from({ length: random.whole(2, 4) }, (_, index) =>
    machine(random, `m${index + 1}`),
  );
  const claimWindow = Math.round(Math.max(100, Math.min(1000, ttl / random.between(1, 8))));
  const retention = Math.max(60_000, 4 * ttl);
  const requestTimeout = Math.round(random.spread(Math.max(50, claimWindow / 4), 2000));
  // one bound for all: the longest bound would hide violations of shorter ones
  const localHandOffs = random.pick([0, 1, 8, 64]);
  const unreachableAfter = Math.round(5 * requestTimeout * random.between(1, 3));
  // a client that resends must reconnect first, which takes time
  const repeats = profile === 'loose' ? 60 + 4 * latency + random.spread(1, 500) : 0;
  const processes = Array.from({ length: random.whole(2, 6) }, (_, index) => ({
    name: `p${index + 1}`,
    machine: random.pick(machines).name,
    habits: {
      onLoss: random.pick(['resends', 'resends', 'rejects', 'rejects', 'forgets'] as const),
      queues: random.chance(0.7),
      ...(repeats > 0 ? { repeats } : {}),
    },
    options: {
      ...{ ttl, claimWindow, requestTimeout, unreachableAfter, retention },
      localHandOffs,
      maxQueue: random.pick([3, 10_000, 10_000]),
      linger: random.pick([0, 1000, 30_000]),
      grace: random.pick([0, 1000, 10_000]),
    },
  }));
  return { machines, processes };
}

function networkOf(random: Random, profile: Profile, ttl: number): Network {
  const latency = random.spread(0.05, Math.min(30, ttl / 30));
  const loose = profile === 'loose';
  return {
    latency,
    jitter: latency * random.between(0.1, 2),
    spikes: random.chance(loose ? 0.2 : 0.5) ? 0 : random.spread(0.001, 0.05),
    spike: Math.min(1000, ttl / 2),
    loose,
    doubled: loose ? random.between(0, 0.3) : 0,
    echo: random.spread(1, 3000),
    lost: loose && random.chance(0.5) ? random.between(0, 0.1) : 0,
  };
}
