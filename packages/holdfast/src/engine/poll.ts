/**
 * Polls the waiters of a process: one command for all ids that the caller names.
 *
 * A poll shows that the process is alive and extends the life of its parked waiters. If the owner
 * of a queued id holds a live lease, the id joins it, as if it had repeated its request. If the id
 * cannot join, it loses its place and is reported as absent; it gets the reason when it repeats its
 * request.
 */
import type { Resource } from './resource.js';
import { granted, next, type CommandContext, rejoin, serve } from './serve.js';
import type * as T from './commands.js';

export function poll(
  resource: Resource | undefined,
  { ids, patience, retention }: T.Poll,
  context: CommandContext,
): T.PollReply {
  const { now } = context;
  if (resource === undefined) {
    return { status: 'polled', now, next: 0, standings: ids.map(() => ({ status: 'absent' })) };
  }
  resource.dropExpired(now);
  for (const id of ids) {
    resource.processes.hear(id, now, patience);
    const waiter = resource.waiters.get(id);
    if (waiter !== undefined) rejoin(resource, waiter, now);
  }
  serve(resource, context, '');
  resource.touch(now, retention);
  const standings = ids.map((id): T.Standing => {
    const holder = resource.leaseOf(id, now);
    if (holder !== undefined) return granted(holder, id, now);
    if (resource.waiters.has(id)) return { status: 'queued' };
    resource.parking.hear(id, now, retention);
    return { status: resource.parking.get(id) === undefined ? 'absent' : 'parked' };
  });
  return { status: 'polled', now, next: next(resource, context), standings };
}
