/**
 * Shows a resource and changes nothing: expired leases stay.
 *
 * It reads the holders that it shows, and at most `EXPIRE_LIMIT` expired leases. More of them count
 * as used, and so do expired holds of a lease that has others.
 */
import { EXPIRE_LIMIT } from './limits.js';
import type { Parked } from './parking.js';
import { type Holder, lives, type Waiter } from './entries.js';
import type { Resource } from './resource.js';
import type * as T from './commands.js';

export function inspect(
  resource: Resource | undefined,
  { limit }: T.Inspect,
  now: T.Micros,
): T.InspectReply {
  const none = {
    kind: '',
    capacity: 0,
    used: 0,
    fence: 0,
    holderCount: 0,
    waiterCount: 0,
    parkedCount: 0,
  } as const;
  if (resource === undefined) {
    return { status: 'inspected', now, ...none, holders: [], waiters: [], parked: [] };
  }
  const holder = (id: string): Holder => resource.holders.get(id) as Holder;
  const expired = resource.expiries.upTo(now);
  const over = resource.expiries.first(Math.min(expired, EXPIRE_LIMIT)).map(holder);
  const live = over.filter((one) => lives(one, now));
  const dead = over.filter((one) => !lives(one, now));
  const others = resource.expiries.from(expired, limit).map(holder);
  return {
    status: 'inspected',
    now,
    kind: resource.kind,
    capacity: resource.capacity,
    used: dead.reduce((used, { weight }) => used - weight, resource.used),
    fence: resource.fence,
    holderCount: resource.expiries.size - expired + live.length,
    waiterCount: resource.queue.size,
    parkedCount: resource.parking.size,
    holders: [...live, ...others].slice(0, limit).map((one) => holderView(one, now, limit)),
    waiters: resource.queue
      .first(limit)
      .map((id) => waiterView(resource.waiters.get(id) as Waiter)),
    parked: resource.parking.all().slice(0, limit).map(parkedView),
  };
}

function holderView(holder: Holder, now: T.Micros, limit: number): T.HolderView {
  const { id, owner, weight, fence, handOffs, since, tasks, meta } = holder;
  const holds = Math.max(1, holder.holds.size);
  const ids = firstOf(holder.holds.keys(), limit);
  const left = holder.expires - now;
  return { id, owner, weight, fence, handOffs, left, holds, tasks, since, meta, ids };
}

function firstOf(all: Iterable<string>, limit: number): string[] {
  const first: string[] = [];
  for (const one of all) {
    if (first.length >= limit) break;
    first.push(one);
  }
  return first;
}

function parkedView({ id, owner, condition, since, meta }: Parked): T.ParkedView {
  return { id, owner, condition, since, meta };
}

function waiterView({ id, owner, weight, ticket, fair, tasks, meta }: Waiter): T.WaiterView {
  return { id, owner, weight, ticket, fair, tasks, meta };
}
