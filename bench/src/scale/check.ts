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
const LOOPS = 20;
const WAITERS = 300;

/** Processes that do the same. */
interface Part {
  readonly team: TeamSettings;
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
const holding: Part = {
  ...{ team: { processes: 2, ttl: TTL }, before: { do: 'hold', locks: LOCKS / 2 }, order: rest },
};
const paced: Part = {
  team: { processes: 2, instances: LOOPS, ttl: TTL },
  order: { do: 'loop', ms: MS, work: 0, pause: 20 },
};
const both: Part = { ...paced, before: { do: 'hold', locks: FEW_LOCKS / 2 } };
const contending: Part = {
  team: { processes: 2, instances: LOOPS },
  order: { do: 'loop', ms: MS, work: 2, pause: 0, key: 'hot' },
};
const waiting: Part = {
  team: { processes: 2, instances: WAITERS, ttl: 600_000 },
  ...{ before: { do: 'wait', key: 'waited' }, order: rest },
};
const waitedFor: Part = {
  team: { ttl: 600_000 },
  ...{ before: { do: 'queue', key: 'waited', calls: 1 }, order: rest },
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
  readonly figures: readonly {
    readonly name: FigureName;
    readonly planned: number;
    readonly seen: number;
  }[];
}

/** The most by which the plan may differ from what is seen. */
export const TOLERANCE = 0.25;

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
  for (const [at, { before }] of parts.entries()) {
    if (before !== undefined) await started[at]?.ask(before);
  }
  await sleep(SETTLING_MS);
  const ask = (team: Team, at: number): ReturnType<Team['ask']> =>
    team.ask((parts[at] as Part).order);
  const { result, change, seconds } = await meter.during(() => Promise.all(started.map(ask)));
  const { memory, connections } = await meter.readMasters();
  const done = result.reduce((sum, one) => sum + one.done, 0);
  const cpu = result.reduce((sum, one) => sum + one.cpu, 0);
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
    figures: figures(planned, { change, seconds, memory, connections, cpu }),
  };
}

interface Seen {
  readonly change: Reading;
  readonly seconds: number;
  readonly memory: number;
  readonly connections: number;
  /** Of the clients, in µs. */
  readonly cpu: number;
}

function figures(planned: Plan, seen: Seen): Comparison['figures'] {
  const { change, seconds, cpu, memory, connections } = seen;
  const rate = (total: number): number => total / seconds;
  return [
    { name: 'commands', planned: planned.commands, seen: rate(change.commands) },
    { name: 'inner', planned: planned.inner, seen: rate(change.inner) },
    { name: 'server cpu', planned: planned.serverCpu, seen: rate(change.cpu) / 1e6 },
    { name: 'client cpu', planned: planned.clientCpu, seen: rate(cpu) / 1e6 },
    { name: 'network', planned: planned.network, seen: rate(change.received + change.sent) },
    { name: 'memory', planned: planned.serverMemory, seen: memory },
    // the connection of the bench to each server is not one of the load
    { name: 'connections', planned: planned.connections, seen: connections - planned.masters },
  ];
}
