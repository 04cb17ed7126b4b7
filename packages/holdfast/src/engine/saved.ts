/**
 * The complete state of a resource or a gate as plain lists, and back.
 *
 * `restored(saved(x))` behaves like `x` for every command. Derived values are not saved: used
 * permits, orders, owners, counts of waiters.
 */
import type { BreakReason, GateKind } from './gate-messages.js';
import { Gate } from './gate.js';
import type { Parked } from './parking.js';
import { type Hold, type Holder, NOTHING_SENT } from './entries.js';
import type { LockKind } from './kinds.js';
import { Resource } from './resource.js';
import {
  NO_QUEUE,
  restoreTimes,
  restoreWaiters,
  savedQueue,
  type SavedQueue,
} from './saved-waiters.js';

type SavedHold = readonly [id: string, hold: Hold];
/** Times count from `since`, and the fence back from that of the resource. */
type SavedHolder = readonly [
  ...[id: string, owner: string, weight: number, channel: string, meta: string, ttl: number],
  ...[below: number, since: number, expires: number, due: number],
  ...[handOffs: number, tasks: number, ...more: Partial<SavedMore>],
];
/** What a lease has that was resized, signalled, got a signal, or has an owner. */
type SavedMore = readonly [
  ...[changes: number, signalled: string, sent: Holder['sent'], holds: readonly SavedHold[]],
];

/** Lists that are empty are left out. */
export interface SavedResource extends Partial<SavedQueue> {
  readonly kind: LockKind;
  readonly capacity: number;
  readonly fence: number;
  readonly lastTicket: number;
  readonly latest: number;
  readonly forgetAt: number;
  readonly holders?: readonly SavedHolder[];
  readonly parked?: readonly Parked[];
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
  const { kind, capacity, fence, lastTicket, latest, forgetAt, holders, parking } = resource;
  if (resource.waiters.size === 0 && parking.size === 0) {
    if (holders.size === 0) return { kind, capacity, fence, lastTicket, latest, forgetAt };
    const held = savedHolders(resource);
    return { kind, capacity, fence, lastTicket, latest, forgetAt, holders: held };
  }
  const { waiters, terms, metas, heard, processes } = savedQueue(resource);
  return {
    kind,
    capacity,
    fence,
    lastTicket,
    latest,
    forgetAt,
    holders: savedHolders(resource),
    waiters,
    terms,
    metas,
    parked: parking.all(),
    heard,
    processes,
  };
}

function savedHolders({ holders, fence }: Resource): readonly SavedHolder[] {
  return Array.from(holders.values(), (one) => savedHolder(one, fence));
}

// the plain case has no more fields: each of them costs time with every change
function savedHolder(one: Holder, last: number): SavedHolder {
  const { id, owner, weight, channel, meta, ttl, fence, since, handOffs, tasks } = one;
  const { changes, signalled, sent, holds } = one;
  const [expires, due, below] = [one.expires - since, one.due - since, last - fence];
  const isPlain = changes === 0 && signalled === '' && holds.size === 0;
  if (isPlain && sent.seq === 0 && sent.woken === 0 && sent.left === 0) {
    return [id, owner, weight, channel, meta, ttl, below, since, expires, due, handOffs, tasks];
  }
  return [
    ...([id, owner, weight, channel, meta, ttl, below, since, expires, due] as const),
    ...([handOffs, tasks, changes, signalled, sent, [...holds]] as const),
  ];
}

function restoredHolder(saved: SavedHolder, last: number): Holder {
  const [id, owner, weight, channel, meta, ttl, below, since, expires, due] = saved;
  const [, , , , , , , , , , handOffs, tasks, changes = 0, signalled = '', sent, holds = []] =
    saved;
  return {
    ...{ id, owner, weight, changes, channel, meta, ttl, fence: last - below, handOffs, tasks },
    ...{ since, expires: since + expires, due: since + due, signalled },
    sent: sent ?? NOTHING_SENT,
    holds: new Map(holds),
  };
}

export function restoredResource(saved: SavedResource): Resource {
  const resource = new Resource();
  resource.setCapacity(saved.kind, saved.capacity);
  for (const one of saved.holders ?? []) {
    const holder = restoredHolder(one, saved.fence);
    resource.add(holder);
    // the first hold may have ended before the others
    resource.holds.delete(holder.id);
    for (const id of holder.holds.keys()) resource.holds.set(id, holder.id);
  }
  const queue: SavedQueue = { ...NO_QUEUE, ...saved };
  restoreWaiters(resource, queue, saved.lastTicket);
  resource.parking.restore(saved.parked ?? []);
  restoreTimes(resource, queue);
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
