/** The planner against real loads: what it computes with the costs of this run, of what is seen. */
import { type ServerName, sleep } from 'holdfast-testkit';
import type { Costs, Topology } from 'holdfast-cli/dist/plan/costs.js';
import { type Load, type Plan, plan } from 'holdfast-cli/dist/plan/plan.js';
import { Meter, type Reading } from './meter.js';
import type { Order } from './orders.js';
import { startSite } from './sites.js';
import { Team, type TeamSettings } from './team.js';

const MS = 15_000;
const TTL = 5000;
/** Until processes listen, waiters have reached their pauses, and leases are renewed. */
const SETTLING_MS = 12_000;
const LOCKS = 2000;
/** In processes that also use free locks; few, because a quorum renews each alone. */
const FEW_LOCKS = 200;
const LOOPS = 10;
const WAITERS = 300;

/** Pairs after which the code of a process is compiled, as in a program that runs for long. */
const COMPILED = 3000;

/** Processes that do the same. */
interface Part {
  readonly team: TeamSettings;
  /** Pairs before all else. */
  readonly warm?: number;
  readonly before?: Order;
  readonly order: Order;
}

interface Checked {
  readonly name: string;
  readonly topology: Topology;
  readonly parts: readonly Part[];
  /** The load for the planner; the rate is the measured one. */
  readonly load: Partial<Load>;
}

const rest: Order = { do: 'rest', ms: MS };
/** Twice the longest pause of a waiter. */
const pauses: Order = { do: 'rest', ms: 32_000 };
const holding: Part = {
  ...{ team: { processes: 2, ttl: TTL }, before: { do: 'hold', locks: LOCKS / 2 }, order: rest },
};
const paced: Part = {
  ...{ team: { processes: LOOPS, ttl: TTL }, warm: COMPILED },
  order: { do: 'loop', ms: MS, work: 0, pause: 20 },
};
const both: Part = { ...paced, before: { do: 'hold', locks: FEW_LOCKS / LOOPS } };
const contending: Part = {
  team: { processes: LOOPS },
  order: { do: 'loop', ms: MS, work: 2, pause: 0, key: 'hot' },
};
const waiting: Part = {
  team: { processes: 2, instances: WAITERS, ttl: 600_000 },
  ...{ before: { do: 'wait', key: 'waited' }, order: pauses },
};
const waitedFor: Part = {
  team: { ttl: 600_000 },
  ...{ before: { do: 'queue', key: 'waited', calls: 1 }, order: pauses },
};

const LOADS: readonly Checked[] = [
  {
    ...{ name: `${LOCKS} leases of ${TTL / 1000} s`, topology: 'one', parts: [holding] },
    load: { processes: 2, locks: LOCKS },
  },
  {
    ...{ name: `${LOOPS} processes with free locks`, topology: 'one', parts: [paced] },
    load: { processes: LOOPS, keys: LOOPS },
  },
  {
    ...{ name: `${LOOPS} processes, one key`, topology: 'one', parts: [contending] },
    load: { processes: LOOPS, hold: 2, contended: 1, keys: 1 },
  },
  {
    ...{ name: `${WAITERS} idle waiters`, topology: 'one', parts: [waitedFor, waiting] },
    load: { processes: WAITERS + 1, locks: 1, waiters: WAITERS },
  },
  ...(['replicas', 'quorum', 'cluster'] as const).map((topology) => ({
    ...{ name: `leases and free locks, ${topology}`, topology, parts: [both] },
    load: { processes: LOOPS, locks: FEW_LOCKS, keys: FEW_LOCKS + LOOPS },
  })),
];

type FigureName =
  | 'commands'
  | 'inner'
  | 'server cpu'
  | 'client cpu'
  | 'network'
  | 'memory'
  | 'connections';

export interface Comparison {
  readonly name: string;
  readonly topology: Topology;
  readonly figures: readonly Figure[];
}

export interface Figure {
  readonly name: FigureName;
  readonly planned: number;
  readonly seen: number;
  /** Those that share a processor time. */
  readonly programs: number;
}

/** The most by which the plan may differ from what is seen. */
const TOLERANCE = 0.25;
/** In cores, for each program. Below it, other programs decide what a process costs. */
const NOISE = 0.01;

/** True if the plan is further from what was seen than it may be. */
export function isFar({ name, planned, seen, programs }: Figure): boolean {
  if (name.endsWith('cpu') && Math.abs(planned - seen) < NOISE * programs) return false;
  return Math.abs(planned / seen - 1) > TOLERANCE;
}

export async function checkPlans(
  server: ServerName,
  costs: Partial<Record<Topology, Costs>>,
  add: (comparison: Comparison) => void,
): Promise<void> {
  for (const checked of LOADS) {
    const own = costs[checked.topology];
    if (own !== undefined) add(await check(server, own, checked));
  }
}

async function check(server: ServerName, costs: Costs, checked: Checked): Promise<Comparison> {
  const { parts, topology } = checked;
  await using site = await startSite(topology, server);
  await using meter = await Meter.start(site);
  const started: Team[] = [];
  try {
    for (const { team } of parts) started.push(await Team.start(site, team));
    return await compare(started, { checked, costs, meter });
  } finally {
    await Promise.all(started.map((team) => team[Symbol.asyncDispose]()));
  }
}

interface Comparing {
  readonly checked: Checked;
  readonly costs: Costs;
  readonly meter: Meter;
}

async function compare(started: readonly Team[], all: Comparing): Promise<Comparison> {
  const { checked, costs, meter } = all;
  const { name, parts, topology, load } = checked;
  for (const [at, { before, warm }] of parts.entries()) {
    if (warm !== undefined) await started[at]?.ask({ do: 'pairs', pairs: warm });
    if (before !== undefined) await started[at]?.ask(before);
  }
  await sleep(SETTLING_MS);
  const ask = (team: Team, at: number): ReturnType<Team['ask']> =>
    team.ask((parts[at] as Part).order);
  const { result, change, seconds } = await meter.during(() => Promise.all(started.map(ask)));
  const { memory, connections } = await meter.readMasters();
  const done = result.reduce((sum, one) => sum + one.done, 0);
  const cpu = result.reduce((sum, one) => sum + one.cpu, 0);
  const processes = parts.reduce((sum, { team }) => sum + (team.processes ?? 1), 0);
  const planned = plan(
    {
      ...{ topology, locks: 0, hold: 0, ttl: TTL, contended: 0, waiters: 0, hotKeys: 1 },
      ...{ keys: 0, servers: undefined, memory: 1e9, processes: 1, ...load, rate: done / seconds },
    },
    { [topology]: costs } as Record<Topology, Costs>,
  );
  return {
    name,
    topology,
    figures: figures(planned, { change, seconds, memory, connections, cpu, processes }),
  };
}

interface Seen {
  readonly change: Reading;
  readonly seconds: number;
  readonly memory: number;
  readonly connections: number;
  /** Of the clients, in µs. */
  readonly cpu: number;
  readonly processes: number;
}

function figures(planned: Plan, seen: Seen): Comparison['figures'] {
  const { change, seconds, cpu, memory, connections, processes } = seen;
  const { masters } = planned;
  const rate = (total: number): number => total / seconds;
  const of = (name: FigureName, by: number, is: number, programs = masters): Figure => {
    return { name, planned: by, seen: is, programs };
  };
  return [
    of('commands', planned.commands, rate(change.commands)),
    of('inner', planned.inner, rate(change.inner)),
    of('server cpu', planned.serverCpu, rate(change.cpu) / 1e6),
    of('client cpu', planned.clientCpu, rate(cpu) / 1e6, processes),
    of('network', planned.network, rate(change.received + change.sent)),
    of('memory', planned.serverMemory, memory),
    // the connection of the bench to each server is not one of the load
    of('connections', planned.connections, connections - masters),
  ];
}
