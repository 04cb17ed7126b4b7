/**
 * Ends a root, and queues the next root of its process in the same step.
 *
 *     held --turn--> (nothing)      the fences that were not used become free
 *     again: (nothing) --turn of a root with the named fence--> queued --grant in turn--> held
 *
 * A process hands a root from task to task without a command, so only `turn` reports which fences
 * were used (I2). A late copy must not queue a root that has ended (I3).
 */
import type { Resource } from './resource.js';
import { granted, next, type CommandContext, serve } from './serve.js';
import type * as T from './commands.js';
import { withdraw } from './signals.js';

export function turn(
  resource: Resource | undefined,
  wanted: T.Turn,
  context: CommandContext,
): T.TurnReply {
  const { now } = context;
  if (resource === undefined) return { status: 'absent', now, again: { status: 'absent', now } };
  resource.dropExpired(now);
  const ended = end(resource, wanted, now);
  if (wanted.again !== '') resource.processes.hear(wanted.again, now, wanted.patience);
  serve(resource, context, wanted.again);
  resource.touch(now, wanted.retention);
  return { status: ended ? 'freed' : 'absent', now, again: standing(resource, wanted, context) };
}

function end(resource: Resource, wanted: T.Turn, now: T.Micros): boolean {
  const { id, fence, used } = wanted;
  const holder = resource.leaseOf(id, now);
  if (holder === undefined) {
    // a late duplicate of its request may have queued it
    withdraw(resource, id);
    return false;
  }
  if (holder.owner !== '') return false;
  const isNamed = holder.fence === fence;
  resource.leave(holder, id);
  resource.takeBackFences(holder, isNamed ? used : holder.fence);
  if (isNamed) queueAgain(resource, wanted, now);
  return isNamed;
}

function queueAgain(resource: Resource, wanted: T.Turn, now: T.Micros): void {
  const { again } = wanted;
  if (again === '' || resource.waiters.has(again) || resource.parking.get(again) !== undefined)
    return;
  resource.dropStale(again, now);
  if (resource.leaseOf(again, now) !== undefined) return;
  const { fair = false, ticket = 0 } = wanted;
  resource.enqueue({ ...wanted, id: again, owner: '', weight: 1, fair, ticket }, now);
}

function standing(resource: Resource, { again }: T.Turn, context: CommandContext): T.Again {
  const { now } = context;
  const holder = again === '' ? undefined : resource.leaseOf(again, now);
  if (holder !== undefined) return granted(holder, again, now);
  const ticket = resource.queue.score(again);
  if (ticket === undefined) return { status: 'absent', now };
  return { status: 'queued', now, ticket, next: next(resource, context) };
}
