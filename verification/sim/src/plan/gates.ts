/**
 * A plan of its own: 64 and more processes wait at one latch or barrier, in a calm network. Shortly
 * before it opens, the wake connections of some die without notice, so they miss the push.
 *
 * Judged is what the periods of polls promise: all pass within the longest period (`end`), no
 * barrier breaks, and the server executes no more commands than the processes may send (`most`).
 */
import { Random } from '../base/random.js';
import { machine } from './machines.js';
import type { FaultPlan, Plan, TaskPlan } from './plan.js';
import { waitingProcess } from './processes.js';

const KEY = 'gate';
/** The claim windows of the longest period, and some for clocks, requests and connections. */
const LONGEST = 20 + 6;
/** The polls of all in a claim window: 64 on average, and more where periods are short. */
const POLLS = 96;
/** The commands and messages of a process that are no polls. */
const OTHERS = 12;

export function gatesOf(seed: number): Plan {
  const random = new Random(`gates/${seed}`);
  const latency = random.spread(0.05, 2);
  const claimWindow = random.pick([300, 1000]);
  const ttl = claimWindow * random.pick([3, 10, 30]);
  const machines = Array.from({ length: 4 }, (_, index) => machine(random, `m${index + 1}`));
  const count = Math.round(random.spread(64, 300));
  const processes = Array.from({ length: count }, (_, index) => {
    const on = machines[index % machines.length]?.name ?? '';
    const terms = { ttl, claimWindow, requestTimeout: claimWindow };
    return waitingProcess(`p${index + 1}`, on, terms);
  });
  const windows = random.whole(40, 80);
  const opens = windows * claimWindow;
  const isLatch = random.chance(0.5);
  const begin = random.spread(10, 10 * claimWindow);
  const tasks = processes.map(({ name }, place): TaskPlan => {
    const last = place === count - 1;
    const own = { name: `${KEY}/${name}`, process: name, ttl, capacity: isLatch ? 1 : count };
    const at = last ? opens : 1 + random.next() * begin;
    if (isLatch) return taskOf({ ...own, primitive: last ? 'count' : 'latch', at });
    return taskOf({ ...own, primitive: 'barrier', at });
  });
  const faults = processes.slice(0, -1).flatMap(({ name }): FaultPlan[] => {
    if (!random.chance(0.3)) return [];
    const at = opens - random.between(0.1, 2) * claimWindow;
    return [
      { kind: 'reset', at, process: name, which: 'pushes', lingers: 0, unnoticed: 3_600_000 },
    ];
  });
  const renewals = isLatch ? 0 : (windows * claimWindow * count) / (0.4 * ttl);
  return {
    ...{ seed, profile: 'gates', machines, processes, tasks },
    network: {
      ...{ latency, jitter: latency, spikes: 0, spike: 0, loose: false },
      ...{ doubled: 0, echo: 1, lost: 0 },
    },
    server: machine(random.fork('server'), 'server'),
    faults: faults.sort((a, b) => a.at - b.at),
    most: Math.ceil(OTHERS * count + POLLS * (windows + LONGEST) + renewals),
    ...{ calm: opens + 1, end: opens + LONGEST * claimWindow },
  };
}

function taskOf(
  own: Pick<TaskPlan, 'name' | 'process' | 'ttl' | 'capacity' | 'primitive' | 'at'>,
): TaskPlan {
  return {
    ...{ ...own, key: KEY, weight: 1, how: 'acquire', end: 'release', renew: true, fair: false },
    ...{ maxHold: undefined, owner: undefined, wait: undefined, abort: undefined },
    steps: [],
  };
}
