/**
 * Shows a resource and changes nothing: expired leases stay.
 *
 * It reads the holders that it shows, and `EXPIRE_LIMIT` expired leases. More count as used.
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
  const view = (id: string): T.HolderView =>
    holderView(resource.holders.get(id) as Holder, now, limit);
  const expired = resource.expiries.upTo(now);
  const over = resource.expiries.first(Math.min(expired, EXPIRE_LIMIT));
  const live = over.map(view).filter(({ left }) => left > 0);
  const others = resource.expiries.from(expired, limit).map(view);
  let { used } = resource;
  for (const id of over) used -= (resource.holders.get(id) as Holder).weight;
  for (const { weight } of live) used += weight;
  return {
    status: 'inspected',
    now,
    kind: resource.kind,
    capacity: resource.capacity,
    used,
    fence: resource.fence,
    holderCount: resource.expiries.size - expired + live.length,
    waiterCount: resource.queue.size,
    parkedCount: resource.parking.size,
    holders: [...live, ...others].slice(0, limit),
    waiters: resource.queue
      .first(limit)
      .map((id) => waiterView(resource.waiters.get(id) as Waiter)),
    parked: resource.parking.all().slice(0, limit).map(parkedView),
  };
}

/** Without the holds that have ended. */
function holderView(holder: Holder, now: T.Micros, limit: number): T.HolderView {
  const { id, owner, fence, handOffs, since, tasks, meta } = holder;
  let { weight, expires } = holder;
  let holds = 1;
  const ids: string[] = [];
  if (owner !== '') {
    weight = expires = holds = 0;
    for (const [one, hold] of holder.holds) {
      if (hold.expires <= now) continue;
      weight = Math.max(weight, hold.weight);
      expires = Math.max(expires, hold.expires);
      holds += 1;
      if (holds <= limit) ids.push(one);
    }
  }
  const left = expires - now;
  return { id, owner, weight, fence, handOffs, left, holds, tasks, since, meta, ids };
}

function parkedView({ id, owner, condition, since, meta }: Parked): T.ParkedView {
  return { id, owner, condition, since, meta };
}

function waiterView({ id, owner, weight, ticket, fair, tasks, meta }: Waiter): T.WaiterView {
  return { id, owner, weight, ticket, fair, tasks, meta };
}
