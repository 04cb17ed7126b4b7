/** The costs of `holdfast plan` from the rows of a run. */
import {
  type Cost as Planned,
  type Costs,
  TOPOLOGIES,
  type Topology,
} from 'holdfast-cli/dist/plan/costs.js';
import { pollsOf } from 'holdfast-cli/dist/plan/plan.js';
import { REPLICAS, SEVERAL } from './sites.js';
import type { Cost, Row, Thing } from './measuring.js';

/** The greatest measured size that may stand for a thing. */
const MOST: Partial<Record<Thing, number>> = {
  // more waiters need long until they have reached their pauses
  ...{ pair: 10, 'busy connection': 1, 'hand-off': 10, waiter: 1000 },
  // more have a longer ttl, of which each renewal moves the expiry of the key
  ...{ lease: 100_000, renewal: 100_000 },
};

/** The most leases that are renewed with one command. */
const TOGETHER = 500;

/** Connections of a process: one for commands, one that listens, one that waits for replicas. */
const CONNECTIONS: Record<Topology, Costs['connections']> = {
  one: { fixed: 0, client: 1, wake: 1 },
  replicas: { fixed: 0, client: 2, wake: 1 },
  quorum: { fixed: 0, client: 1, wake: 1 },
  cluster: { fixed: 0, client: 1, wake: 1 },
};

/** The servers that have each record: a master with its replica, the members of a quorum. */
const COPIES: Record<Topology, number> = {
  ...{ one: 1, replicas: 1 + REPLICAS, quorum: SEVERAL, cluster: 1 },
};

/** The servers that a process has connections to. */
const MASTERS: Record<Topology, number> = {
  one: 1,
  replicas: 1,
  quorum: SEVERAL,
  cluster: SEVERAL,
};

/** Rounded to three digits, because the rest is noise. */
const round = (value: number): number => Number(value.toPrecision(3));

const planned = (cost: Cost, by = 1): Planned => {
  const of = (name: keyof Planned): number => round(Math.max(0, cost[name] ?? 0) / by);
  // less than a byte is noise
  const between = of('between');
  return {
    ...{ commands: of('commands'), inner: of('inner'), server: of('server') },
    ...{ client: of('client'), received: of('received'), sent: of('sent') },
    between: between < 1 ? 0 : between,
  };
};

/** Without what a part of a cost is counted for already. */
function less(cost: Cost, part: Planned, times: number): Cost {
  const names = Object.keys(part) as (keyof Planned)[];
  const left = names.map((name) => [name, (cost[name] ?? 0) - part[name] * times]);
  return { ...cost, ...Object.fromEntries(left) };
}

export function costsOf(rows: readonly Row[], topology: Topology): Costs {
  const rowOf = (thing: Thing, most = MOST[thing] ?? Number.POSITIVE_INFINITY): Row => {
    const found = rows.filter((row) => row.kind === topology && row.thing === thing);
    const last = found.filter(({ at }) => at <= most).at(-1);
    if (last === undefined) throw new Error(`${topology}: ${thing} was not measured`);
    return last;
  };
  const cost = (thing: Thing, most?: number): Cost => rowOf(thing, most).cost;
  const bytes = (thing: Thing, name: 'serverBytes' | 'clientBytes'): number =>
    Math.round(cost(thing)[name] ?? 0);
  const pair = planned(cost('pair'));
  const lone = planned(less(cost('paced pair'), pair, 1));
  // a quorum renews each lease with commands of its own
  const renewedTogether = topology === 'quorum' ? 1 : TOGETHER;
  const call = { ...planned(pair, 2), commands: renewedTogether === 1 ? 0 : 1, inner: 0 };
  const renewalCall = renewedTogether === 1 ? planned({}) : call;
  const connection = bytes('connection', 'serverBytes');
  // of all servers together
  const busy = bytes('busy connection', 'serverBytes') / MASTERS[topology];
  const waiter = rowOf('waiter');
  // a poll of a quorum is several commands
  const several = topology === 'quorum' ? pollsOf(waiter.at) / waiter.at : undefined;
  const polls = several ?? waiter.cost.commands ?? 1;
  // the buffers of many connections that are busy are not those of idle ones
  const { connections = 0, serverBytes = 0 } = cost('waiter', 100);
  return {
    alone: { client: lone.client, server: lone.server },
    ...{ pair, handOff: planned(cost('hand-off')), renewedTogether, renewalCall },
    renewal: planned(less(cost('renewal'), renewalCall, 1 / renewedTogether)),
    poll: planned(waiter.cost, polls),
    serverBytes: {
      ...{ empty: bytes('server', 'serverBytes'), connection, busy: Math.round(busy) },
      lease: Math.round(bytes('lease', 'serverBytes') / COPIES[topology]),
      key: Math.round(bytes('key', 'serverBytes') / COPIES[topology]),
      waiter: Math.round(Math.max(0, serverBytes - connections * connection) / COPIES[topology]),
    },
    clientBytes: {
      lease: bytes('lease', 'clientBytes'),
      waiter: bytes('local waiter', 'clientBytes'),
    },
    connections: CONNECTIONS[topology],
  };
}

/** Of those topologies of which all was measured. */
export function allCosts(rows: readonly Row[]): Partial<Record<Topology, Costs>> {
  const last = TOPOLOGIES.filter((topology) =>
    rows.some(({ kind, thing }) => kind === topology && thing === 'connection'),
  );
  return Object.fromEntries(last.map((topology) => [topology, costsOf(rows, topology)]));
}
