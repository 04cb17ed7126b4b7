/**
 * A plan of its own: many processes take a few locks in turns, again and again, while the server
 * needs time for each command and the event loops of the processes are late. It runs twice, quiet
 * and with the load, see `overload.ts`.
 */
import { Random } from '../base/random.js';
import { machine } from './machines.js';
import type { Plan, TaskPlan } from './plan.js';
import { waitingProcess } from './processes.js';

/** The grants of a run, about. */
const GRANTS = 800;

/** The time within which all of them begin, so that each lock has a queue at all times. */
const SPREAD_MS = 10;

export function overloadOf(seed: number): Plan {
  const random = new Random(`overload/${seed}`);
  const latency = random.spread(0.05, 2);
  const machines = Array.from({ length: 4 }, (_, index) => machine(random, `m${index + 1}`));
  const claimWindow = random.pick([300, 1000, 1000]);
  const ttl = claimWindow * random.pick([3, 10, 30]);
  const processes = Array.from({ length: Math.round(random.spread(8, 250)) }, (_, index) => {
    const on = machines[index % machines.length]?.name ?? '';
    const terms = { ttl, claimWindow, requestTimeout: 5000 };
    return waitingProcess(`p${index + 1}`, on, terms);
  });
  const keys = Array.from({ length: random.whole(1, 3) }, (_, index) => `busy${index + 1}`);
  const fair = random.chance(0.3);
  const hold = random.pick([0, random.spread(0.1, 5)]);
  const weight = Math.max(2, Math.round(GRANTS / processes.length));
  const tasks = processes.map(({ name }): TaskPlan => {
    const own = random.fork(name);
    return {
      ...{ name: `turns/${name}`, key: own.pick(keys), process: name, ttl, weight, capacity: 1 },
      ...{ primitive: 'turns', how: 'acquire', end: 'release', renew: true, fair },
      ...{ maxHold: undefined, owner: undefined, wait: undefined, abort: undefined },
      at: 1 + own.next() * SPREAD_MS,
      steps: hold === 0 ? [] : [{ do: 'rest', ms: hold }],
    };
  });
  const usual = random.spread(0.03, 0.1);
  const factor = random.spread(2, 10);
  // a hand-off takes two messages and three commands, and two event loops take part in it
  const handOff = 3 * latency + 3 * usual;
  const lag = random.pick([0, ((factor - 1) * handOff) / 2, random.spread(10, 80)]);
  return {
    ...{ seed, profile: 'overload', machines, processes, tasks, faults: [] },
    network: {
      ...{ latency, jitter: latency, spikes: 0, spike: 0, loose: false },
      ...{ doubled: 0, echo: 1, lost: 0 },
    },
    server: machine(random.fork('server'), 'server'),
    load: { usual, cost: usual * factor, lag },
    ...{ calm: 2 * claimWindow, end: 3_600_000 },
  };
}
