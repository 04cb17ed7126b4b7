/**
 * The complete state of a resource or a gate as plain lists, and back.
 *
 * `restored(saved(x))` behaves like `x` for every command. Derived values are not saved: used
 * permits, orders, owners, counts of waiters.
 */
import type { BreakReason, GateKind } from './gate-messages.js';
import { Gate } from './gate.js';
import type { Parked } from './parking.js';
import type { Hold, Holder, Waiter } from './entries.js';
import type { LockKind } from './kinds.js';
import { Resource } from './resource.js';

type SavedHold = readonly [id: string, hold: Hold];
type SavedProcess = readonly [name: string, heard: number, until: number, paused?: number];
/** Has no names of fields, because each change stores a long queue. */
type SavedWaiter = readonly [
  ...[id: string, ticket: number, token: string, channel: string, meta: string, owner: string],
  ...[weight: number, ttl: number, claim: number, fair: boolean, handOffs: number, tasks: number],
  signalled: string,
];
type SavedHolder = Omit<Holder, 'holds'> & { readonly holds: readonly SavedHold[] };

export interface SavedResource {
  readonly kind: LockKind;
  readonly capacity: number;
  readonly fence: number;
  readonly lastTicket: number;
  readonly latest: number;
  readonly forgetAt: number;
  readonly holders: readonly SavedHolder[];
  readonly waiters: readonly SavedWaiter[];
  readonly parked: readonly Parked[];
  readonly processes: readonly SavedProcess[];
}

export interface SavedGate {
  readonly key: string;
  readonly kind: GateKind;
  readonly count: number;
  readonly generation: number;
  readonly since: number;
  readonly missing: number;
  readonly endsAt: number;
  readonly retention: number;
  readonly pastGeneration: number;
  readonly broken: readonly { readonly generation: number; readonly reason: BreakReason }[];
  readonly arrivals: readonly (readonly [id: string, missing: number])[];
  readonly past: readonly (readonly [id: string, missing: number])[];
  readonly expiries: readonly (readonly [id: string, expires: number])[];
  readonly channels: readonly (readonly [channel: string, token: string])[];
}

export function savedResource(resource: Resource): SavedResource {
  const { kind, capacity, fence, lastTicket, latest, forgetAt } = resource;
  return {
    ...{ kind, capacity, fence, lastTicket, latest, forgetAt },
    holders: [...resource.holders.values()].map(({ holds, ...holder }) => ({
      ...holder,
      holds: [...holds],
    })),
    waiters: [...resource.waiters.values()].map(savedWaiter),
    parked: resource.parking.all(),
    processes: [...resource.processes.all]
      .map(([name, { heard, until, paused }]) => savedProcess(name, heard, until, paused))
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  };
}

// without spread: a queue may be long
function savedWaiter(one: Waiter): SavedWaiter {
  // biome-ignore format: as in `SavedWaiter`
  return [
    one.id, one.ticket, one.token, one.channel, one.meta, one.owner,
    one.weight, one.ttl, one.claim, one.fair, one.handOffs, one.tasks,
    one.signalled,
  ];
}

function restoredWaiter(saved: SavedWaiter): Waiter {
  return {
    id: saved[0],
    owner: saved[5],
    weight: saved[6],
    ttl: saved[7],
    claim: saved[8],
    fair: saved[9],
    handOffs: saved[10],
    channel: saved[3],
    token: saved[2],
    meta: saved[4],
    tasks: saved[11],
    ticket: saved[1],
    signalled: saved[12],
  };
}

/** Older states have no pause. */
function savedProcess(...[name, heard, until, paused]: Required<SavedProcess>): SavedProcess {
  return paused === 0 ? [name, heard, until] : [name, heard, until, paused];
}

export function restoredResource(saved: SavedResource): Resource {
  const resource = new Resource();
  resource.setCapacity(saved.kind, saved.capacity);
  for (const { holds, ...holder } of saved.holders) {
    resource.add({ ...holder, holds: new Map(holds) });
    // the first hold may have ended before the others
    resource.holds.delete(holder.id);
    for (const [id] of holds) resource.holds.set(id, holder.id);
  }
  for (const waiter of saved.waiters) {
    resource.place(restoredWaiter(waiter));
  }
  resource.parking.restore(saved.parked);
  for (const [name, heard, until, paused = 0] of saved.processes) {
    resource.processes.restore(name, heard, until, paused);
  }
  resource.fence = saved.fence;
  resource.lastTicket = saved.lastTicket;
  resource.latest = saved.latest;
  resource.forgetAt = saved.forgetAt;
  return resource;
}

export function savedGate(gate: Gate): SavedGate {
  const { key, kind, count, generation, since, missing, endsAt, retention, pastGeneration } = gate;
  const expiries = gate.expiries.first(gate.expiries.size);
  return {
    ...{ key, kind, count, generation, since, missing, endsAt, retention, pastGeneration },
    broken: [...gate.broken],
    arrivals: [...gate.arrivals],
    past: [...gate.past],
    expiries: expiries.map((id) => [id, gate.expiries.score(id) as number] as const),
    channels: [...gate.channels],
  };
}

export function restoredGate(saved: SavedGate): Gate {
  const gate = new Gate(saved.key, saved.kind, saved.count, saved.generation);
  gate.since = saved.since;
  gate.missing = saved.missing;
  gate.endsAt = saved.endsAt;
  gate.retention = saved.retention;
  gate.pastGeneration = saved.pastGeneration;
  gate.broken.push(...saved.broken);
  gate.arrivals = new Map(saved.arrivals);
  gate.past = new Map(saved.past);
  for (const [id, expires] of saved.expiries) gate.expiries.set(id, expires);
  for (const [channel, token] of saved.channels) gate.channels.set(channel, token);
  return gate;
}
