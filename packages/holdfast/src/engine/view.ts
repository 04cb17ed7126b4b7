/**
 * What a resource looks like to whoever inspects it. Changes nothing, not even what has expired.
 */
import type { Parked } from './parking.js';
import type { Holder, Resource, Waiter } from './resource.js';
import type * as T from './types.js';

export function inspect(
  resource: Resource | undefined,
  { limit }: T.Inspect,
  now: T.Micros,
): T.InspectReply {
  const none = { capacity: 0, used: 0, fence: 0, holderCount: 0, waiterCount: 0, parkedCount: 0 };
  if (resource === undefined) {
    return { status: 'inspected', now, ...none, holders: [], waiters: [], parked: [] };
  }
  const all = resource.expiries.first(resource.expiries.size);
  const live = all
    .map((id) => resource.holders.get(id) as Holder)
    .filter((holder) => holder.expires > now);
  return {
    status: 'inspected',
    now,
    capacity: resource.capacity,
    used: live.reduce((sum, holder) => sum + holder.weight, 0),
    fence: resource.fence,
    holderCount: live.length,
    waiterCount: resource.queue.size,
    parkedCount: resource.parking.size,
    holders: live.slice(0, limit).map((holder) => holderView(holder, now, limit)),
    waiters: resource.queue
      .first(limit)
      .map((id) => waiterView(resource.waiters.get(id) as Waiter)),
    parked: resource.parking.all().slice(0, limit).map(parkedView),
  };
}

function holderView(holder: Holder, now: T.Micros, limit: number): T.HolderView {
  const { id, owner, weight, fence, since, meta } = holder;
  const holds = Math.max(1, holder.holds.size);
  const ids = [...holder.holds].slice(0, limit);
  return { id, owner, weight, fence, left: holder.expires - now, holds, since, meta, ids };
}

function parkedView({ id, owner, condition, since, meta }: Parked): T.ParkedView {
  return { id, owner, condition, since, meta };
}

function waiterView({ id, owner, weight, ticket, fair, meta }: Waiter): T.WaiterView {
  return { id, owner, weight, ticket, fair, meta };
}
