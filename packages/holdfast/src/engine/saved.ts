/**
 * The complete state of a resource or a gate as plain lists, and back.
 *
 * `restored(saved(x))` behaves like `x` for every command. Derived values are not saved: used
 * permits, orders, owners, counts of waiters.
 */
import type { BreakReason, GateKind } from './gate-messages.js';
import { Gate } from './gate.js';
import type { Parked } from './parking.js';
import type { Hold, Holder } from './entries.js';
import type { LockKind } from './kinds.js';
import { Resource } from './resource.js';
import { restoreTimes, restoreWaiters, savedQueue, type SavedQueue } from './saved-waiters.js';

type SavedHold = readonly [id: string, hold: Hold];
type SavedHolder = Omit<Holder, 'holds'> & { readonly holds: readonly SavedHold[] };

export interface SavedResource extends SavedQueue {
  readonly kind: LockKind;
  readonly capacity: number;
  readonly fence: number;
  readonly lastTicket: number;
  readonly latest: number;
  readonly forgetAt: number;
  readonly holders: readonly SavedHolder[];
  readonly parked: readonly Parked[];
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
  const { waiters, terms, metas, heard, processes } = savedQueue(resource);
  return {
    kind,
    capacity,
    fence,
    lastTicket,
    latest,
    forgetAt,
    holders: Array.from(resource.holders.values(), savedHolder),
    waiters,
    terms,
    metas,
    parked: resource.parking.all(),
    heard,
    processes,
  };
}

// spread is slow
function savedHolder(one: Holder): SavedHolder {
  return {
    id: one.id,
    owner: one.owner,
    weight: one.weight,
    channel: one.channel,
    meta: one.meta,
    ttl: one.ttl,
    fence: one.fence,
    handOffs: one.handOffs,
    tasks: one.tasks,
    since: one.since,
    expires: one.expires,
    due: one.due,
    signalled: one.signalled,
    sent: one.sent,
    changes: one.changes,
    holds: [...one.holds],
  };
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
  restoreWaiters(resource, saved, saved.lastTicket);
  resource.parking.restore(saved.parked);
  restoreTimes(resource, saved);
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
