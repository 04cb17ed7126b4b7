/**
 * Changes of what is in use: a lease that weighs more or less from now on, a resource of which
 * there is more or less.
 *
 * Both name what the caller believes to be the case, the lease's fence or the capacity agreed, and
 * change nothing if it is not: a duplicate that comes late undoes no later change (I3). What makes
 * room serves the queue (I5); what takes room away takes no lease with it.
 */
import { type CommandContext, serve } from './serve.js';
import type { Holder, Resource } from './resource.js';
import type * as T from './commands.js';
import { redeliverSignals } from './signals.js';

export function resize(
  resource: Resource | undefined,
  wanted: T.Resize,
  context: CommandContext,
): T.ResizeReply {
  const { now } = context;
  if (resource === undefined) return { status: 'absent', now, fence: 0, left: 0 };
  resource.dropExpired(now);
  redeliverSignals(resource, context);
  const holder = resource.leaseOf(wanted.id, now);
  const status = holder === undefined ? 'absent' : weigh(resource, holder, wanted, now);
  serve(resource, context, '');
  resource.touch(now, wanted.retention);
  if (holder === undefined) return { status, now, fence: 0, left: 0 };
  return { status, now, fence: holder.fence, left: holder.expires - now };
}

function weigh(
  resource: Resource,
  holder: Holder,
  { id, weight, fence }: T.Resize,
  now: T.Micros,
): 'resized' | 'refused' {
  const hold = holder.holds.get(id);
  const own = hold?.weight ?? holder.weight;
  if (weight === own) return 'resized';
  if (fence !== holder.fence) return 'refused';
  if (hold !== undefined && holder.holds.size > 1) {
    if (weight < own || weight > holder.weight) return 'refused';
    // the lease weighs that much already
    hold.weight = weight;
    return 'resized';
  }
  if (weight > holder.weight && !resource.fits(weight - holder.weight)) return 'refused';
  resource.resize(holder, weight, now);
  return 'resized';
}

export function setCapacity(
  resource: Resource | undefined,
  { from, capacity, retention }: T.SetCapacity,
  context: CommandContext,
): T.CapacityReply {
  const { now } = context;
  if (resource === undefined) return { status: 'absent', now, capacity: 0 };
  resource.dropExpired(now);
  redeliverSignals(resource, context);
  const agreed = resource.capacity === from || resource.capacity === capacity;
  // a signal finds who is parked at a capacity of 1 only
  const parked = resource.parking.size > 0;
  if ((agreed || resource.idle) && !parked) resource.setCapacity(capacity);
  serve(resource, context, '');
  resource.touch(now, retention);
  const status = resource.capacity === capacity ? 'changed' : 'mismatch';
  return { status, now, capacity: resource.capacity };
}
