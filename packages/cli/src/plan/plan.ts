/**
 * What a load needs: the formulas of `docs/scale.md` with the costs of `costs.ts`.
 *
 * They are sums: so many operations of each kind in a second, each with its cost. Memory and
 * connections are those at the same time.
 */
import type { Cost, Costs, Topology } from './costs.js';
import { COSTS } from './measured.js';

/** The load, in one second where it is a rate. Times are in ms. */
export interface Load {
  readonly topology: Topology;
  /** Processes that use locks. */
  readonly processes: number;
  /** Locks that are held without end, in addition to those of `rate`. */
  readonly locks: number;
  /** Acquisitions, each with its release. */
  readonly rate: number;
  /** How long they hold their locks. */
  readonly hold: number;
  readonly ttl: number;
  /** The share of the acquisitions that wait for another process, 0 to 1. */
  readonly contended: number;
  /** Processes that wait at the same time. */
  readonly waiters: number;
  /** The keys that they and the contended acquisitions share. */
  readonly hotKeys: number;
  /** The different keys that are used; `undefined`: each acquisition has its own. */
  readonly keys: number | undefined;
  /** Servers of a quorum, masters of a cluster, replicas; `undefined`: as few as are enough. */
  readonly servers: number | undefined;
  /** Memory of a server in bytes. */
  readonly memory: number;
}

export type LimitName =
  | 'server cpu'
  | 'server memory'
  | 'connections'
  | 'network'
  | 'client cpu'
  | 'hot key';

/** One thing that fills. */
export interface Limit {
  readonly name: LimitName;
  readonly used: number;
  readonly most: number;
  /** `used / most`; above 1 the load does not fit. */
  readonly share: number;
}

export interface Plan {
  readonly load: Load;
  /** Servers in all, and those of them that get commands. */
  readonly servers: number;
  readonly masters: number;
  /** Of all servers, in a second. */
  readonly commands: number;
  readonly inner: number;
  readonly renewals: number;
  readonly polls: number;
  /** Cores of all masters, and of all processes. */
  readonly serverCpu: number;
  readonly clientCpu: number;
  /** Bytes of all masters; a replica has as many. */
  readonly serverMemory: number;
  /** Bytes of one process, for its locks and waiters. */
  readonly clientMemory: number;
  /** Of all masters. */
  readonly connections: number;
  /** Bytes in a second: with the clients, and between servers. */
  readonly network: number;
  readonly between: number;
  /** The fullest first. */
  readonly limits: readonly [Limit, ...Limit[]];
  /** True for figures beyond those that were measured. */
  readonly computed: boolean;
}

/** A lease is renewed after 0.5 to 0.6 of its ttl. */
const RENEWED_AT = 0.55;
/** A longer lease opens the wake connection of its process; a waiter polls so often. */
const CLAIM_WINDOW_MS = 1000;
/** How long a key is remembered after its last use. */
const RETENTION_S = 60;
/** Leases that are not taken at once are renewed with so many calls in each period. */
const SPREAD_CALLS = 3;
/** The places near the head that poll in each claim window; those behind pause for longer. */
const NEAR = 8;
const LONGEST_PAUSE = 16;
/**
 * Pairs in a second of a process, and of a server, at which half of their commands wake it. With
 * more, several are read and written at once.
 */
const HALF_WOKEN = { client: 100, server: 200 };
/** From a release to the work of the next process, with one round trip of a local network. */
const HAND_OFF_MS = 1;
/** Limits of a server: one core, the default of `maxclients`, 1 Gbit/s. */
const CONNECTIONS = 10_000;
const NETWORK = 125_000_000;
/** For so long a server keeps the buffers of a connection after a command. */
const BUSY_S = 2;
/** What a master keeps for its replicas: the default of `repl-backlog-size`. */
const BACKLOG = 1_048_576;
/** The share of a core that a server should use: above it, commands wait for each other. */
export const COMFORT = 0.6;
/** What was measured; beyond it the figures are computed. */
const MEASURED: Readonly<Record<Topology, Pick<Load, 'locks' | 'processes' | 'waiters'>>> = {
  one: { locks: 1_000_000, processes: 3000, waiters: 10_000 },
  replicas: { locks: 5000, processes: 10, waiters: 20 },
  quorum: { locks: 100_000, processes: 1000, waiters: 1000 },
  cluster: { locks: 5000, processes: 100, waiters: 100 },
};

/** Polls in a claim window of so many processes that wait for one key. */
export function pollsOf(waiters: number): number {
  const steps = (LONGEST_PAUSE - 1) * NEAR;
  let polls = Math.max(0, waiters - steps) / LONGEST_PAUSE;
  for (let place = 0; place < Math.min(waiters, steps); place++) {
    polls += Math.min(1, waiters - place) / (1 + Math.floor(place / NEAR));
  }
  return polls;
}

/** Operations in a second. */
interface Rates {
  readonly pairs: number;
  readonly handOffs: number;
  readonly renewals: number;
  readonly renewalCalls: number;
  readonly polls: number;
}

function ratesOf(load: Load, { renewedTogether }: Costs, masters: number): Rates {
  const { contended, hold, hotKeys, locks, processes, rate, ttl, waiters } = load;
  const period = (RENEWED_AT * ttl) / 1000;
  // a lease that is released within half of its ttl is not renewed
  const each = hold < 0.5 * ttl ? 0 : hold / 1000 / period - 0.5;
  const renewals = locks / period + rate * each;
  const renewed = locks + (each === 0 ? 0 : heldOf(load) - locks);
  const holders = Math.min(processes, renewed);
  const held = renewed / Math.max(1, holders) / masters;
  const together = each === 0 ? 1 : SPREAD_CALLS;
  const calls = Math.max(held / renewedTogether, Math.min(held, together));
  const handOffs = rate * contended;
  // a waiter that is granted the lock within a claim window does not poll
  const polling = waiters > handOffs * (CLAIM_WINDOW_MS / 1000);
  return {
    ...{ pairs: rate - handOffs, handOffs, renewals },
    renewalCalls: renewals === 0 ? 0 : (calls * holders * masters) / period,
    polls: polling ? (hotKeys * pollsOf(waiters / hotKeys) * 1000) / CLAIM_WINDOW_MS : 0,
  };
}

/** Locks that are held at the same time. */
export const heldOf = ({ hold, locks, rate }: Load): number => locks + (rate * hold) / 1000;

/** The masters of a deployment; of a cluster as many as the work needs, and at least three. */
function mastersOf({ servers, topology }: Load, cpu: number): number {
  switch (topology) {
    case 'one':
    case 'replicas':
      return 1;
    case 'quorum':
      return servers ?? 3;
    case 'cluster':
      return servers ?? Math.max(3, Math.ceil(cpu / COMFORT));
  }
}

export function plan(load: Load, all: Readonly<Record<Topology, Costs>> = COSTS): Plan {
  const costs = all[load.topology];
  const measured = MEASURED[load.topology];
  // a quorum was measured with three servers: two of them answer each round, of five three
  const wider = load.topology === 'quorum' ? ((load.servers ?? 3) + 1) / 4 : 1;
  const sum = (masters: number): Cost => work(ratesOf(load, costs, masters), costs, wider);
  const masters = mastersOf(load, sum(load.servers ?? 3).server / 1e6);
  // the calls that renew leases are one for each node of a cluster
  const nodes = load.topology === 'cluster' ? masters : 1;
  const rates = ratesOf(load, costs, nodes);
  const total = work(rates, costs, wider);
  const wakes = load.waiters > 0 || load.contended > 0 || lasts(load);
  const connections = connectionsOf(load, costs, masters, wakes);
  const each = total.commands / load.processes / (load.topology === 'cluster' ? masters : 1);
  const busy = load.processes * masters * Math.min(1, each * BUSY_S);
  const serverMemory =
    memoryOf(load, costs, masters) +
    connections * costs.serverBytes.connection +
    busy * costs.serverBytes.busy;
  const result = {
    ...{
      load,
      masters,
      servers: masters + (load.topology === 'replicas' ? (load.servers ?? 1) : 0),
    },
    ...{ commands: total.commands, inner: total.inner },
    ...{ renewals: rates.renewals, polls: rates.polls },
    serverCpu: (total.server + wakesOf('server', rates, costs, nodes)) / 1e6,
    clientCpu: (total.client + wakesOf('client', rates, costs, load.processes)) / 1e6,
    serverMemory,
    clientMemory:
      (heldOf(load) * costs.clientBytes.lease) / load.processes +
      (load.waiters / load.processes) * costs.clientBytes.waiter,
    ...{ connections, network: total.received + total.sent, between: total.between },
    computed:
      heldOf(load) > measured.locks ||
      load.processes > measured.processes ||
      load.waiters > measured.waiters ||
      (load.topology === 'quorum' && masters !== 3),
  };
  return { ...result, limits: limitsOf(result) };
}

const lasts = ({ hold, locks, rate }: Load): boolean =>
  locks > 0 || (rate > 0 && hold > CLAIM_WINDOW_MS);

/** The sum of all operations of a second. */
function work(rates: Rates, costs: Costs, wider: number): Cost {
  const parts: readonly (readonly [count: number, cost: Cost])[] = [
    [rates.pairs, costs.pair],
    [rates.handOffs, costs.handOff],
    [rates.renewals, costs.renewal],
    [rates.renewalCalls, costs.renewalCall],
    [rates.polls, costs.poll],
  ];
  const sum = (name: keyof Cost): number =>
    wider * parts.reduce((total, [count, cost]) => total + count * cost[name], 0);
  return {
    ...{ commands: sum('commands'), inner: sum('inner'), server: sum('server') },
    ...{ client: sum('client'), received: sum('received'), sent: sum('sent') },
    between: sum('between'),
  };
}

/** The µs of a second in which commands wake an idle program. */
function wakesOf(
  of: 'client' | 'server',
  { pairs, handOffs, renewalCalls }: Rates,
  { alone }: Costs,
  programs: number,
): number {
  // a call that renews leases is one command, a pair are two
  const woken = pairs + renewalCalls / 2;
  const each = (woken + handOffs) / programs;
  return (woken * alone[of]) / (1 + each / HALF_WOKEN[of]);
}

function connectionsOf(load: Load, costs: Costs, masters: number, wakes: boolean): number {
  const { client, fixed, wake } = costs.connections;
  return load.processes * (fixed + masters * (client + (wakes ? wake : 0)));
}

/** Without the connections. */
function memoryOf(load: Load, costs: Costs, masters: number): number {
  const { keys = Number.POSITIVE_INFINITY, rate, topology, waiters } = load;
  const locks = heldOf(load);
  const { empty, key, lease, waiter } = costs.serverBytes;
  const remembered = Math.min(Math.max(0, keys - locks), rate * RETENTION_S);
  const copies = topology === 'quorum' ? masters : 1;
  const records = locks * lease + remembered * key + waiters * waiter;
  const backlog = topology === 'replicas' ? BACKLOG : 0;
  return masters * empty + copies * records + backlog;
}

function limitsOf(result: Omit<Plan, 'limits'>): readonly [Limit, ...Limit[]] {
  const { load, masters } = result;
  const { contended, hold, hotKeys, memory, processes, rate } = load;
  const limit = (name: LimitName, used: number, most: number): Limit => {
    return { name, used, most, share: used / most };
  };
  const all: [Limit, ...Limit[]] = [
    limit('server cpu', result.serverCpu / masters, 1),
    limit('server memory', result.serverMemory / masters, memory),
    limit('connections', result.connections / masters, CONNECTIONS),
    limit('network', (result.network + result.between) / masters, NETWORK),
    limit('client cpu', result.clientCpu / processes, 1),
    limit('hot key', (rate * contended * (hold + HAND_OFF_MS)) / 1000 / hotKeys, 1),
  ];
  return all.sort((a, b) => b.share - a.share);
}
