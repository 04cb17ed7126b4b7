/**
 * Changes the weight of a lease, or the capacity of a resource.
 *
 * A change of a weight has a number, and a change of the capacity names the present one, so a late
 * duplicate changes nothing (I3), unless the capacity was changed back meanwhile. Freed permits
 * serve the queue (I5).
 */
import { type CommandContext, serve } from './serve.js';
import { endOf, type Holder } from './entries.js';
import type { Resource } from './resource.js';
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
  return { status, now, fence: holder.fence, left: endOf(holder, wanted.id) - now };
}

function weigh(
  resource: Resource,
  holder: Holder,
  { id, weight, seq }: T.Resize,
  now: T.Micros,
): 'resized' | 'refused' {
  const hold = holder.holds.get(id);
  const own = hold ?? holder;
  const isNew = resource.noteChange(own, seq);
  if (weight === own.weight) return 'resized';
  if (!isNew) return 'refused';
  if (hold !== undefined && holder.holds.size > 1) {
    if (weight < own.weight || weight > holder.weight) return 'refused';
    resource.resizeHold(hold, weight);
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
  if (resource === undefined) return { status: 'absent', now, capacity: 0, kind: '' };
  resource.dropExpired(now);
  redeliverSignals(resource, context);
  const agreed = resource.capacity === from || resource.capacity === capacity;
  const changes = resource.idle || (resource.kind === 'semaphore' && agreed);
  if (changes) resource.setCapacity('semaphore', capacity);
  serve(resource, context, '');
  resource.touch(now, retention);
  const { kind } = resource;
  return { status: changes ? 'changed' : 'mismatch', now, capacity: resource.capacity, kind };
}
