/**
 * Shows a resource. It changes nothing and does not remove expired leases.
 *
 * The cost does not grow with the number of holders: it reads only the holders that it shows, and
 * at most `EXPIRE_LIMIT` expired leases. Expired leases beyond that limit still count as used.
 */
import { EXPIRE_LIMIT } from './limits.js';
import type { Parked } from './parking.js';
import type { Holder, Waiter } from './entries.js';
import type { Resource } from './resource.js';
import type * as T from './commands.js';

export function inspect(
  resource: Resource | undefined,
  { limit }: T.Inspect,
  now: T.Micros,
): T.InspectReply {
  const none = { capacity: 0, used: 0, fence: 0, holderCount: 0, waiterCount: 0, parkedCount: 0 };
  if (resource === undefined) {
    return { status: 'inspected', now, ...none, holders: [], waiters: [], parked: [] };
  }
  const holder = (id: string): Holder => resource.holders.get(id) as Holder;
  const expired = resource.expiries.upTo(now);
  const over = resource.expiries.first(Math.min(expired, EXPIRE_LIMIT));
  return {
    status: 'inspected',
    now,
    capacity: resource.capacity,
    used: over.reduce((used, id) => used - holder(id).weight, resource.used),
    fence: resource.fence,
    holderCount: resource.expiries.size - expired,
    waiterCount: resource.queue.size,
    parkedCount: resource.parking.size,
    holders: resource.expiries.from(expired, limit).map((id) => holderView(holder(id), now, limit)),
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
