/** Extends a lease. */
import type * as T from './commands.js';
import { endOf } from './entries.js';
import type { Resource } from './resource.js';
import { type CommandContext, serve } from './serve.js';

export function renew(
  resource: Resource | undefined,
  { id, ttl, retention, channel = '', tasks }: T.Renew,
  context: CommandContext,
): T.RenewReply {
  const { now } = context;
  if (resource === undefined) return { status: 'absent', now, left: 0 };
  resource.dropExpired(now);
  const holder = resource.leaseOf(id, now);
  if (holder !== undefined) {
    if (channel !== '') resource.address(holder, id, channel);
    if (tasks !== undefined) resource.noteTasks(holder, { tasks });
    resource.extend(holder, id, now + ttl * 1000);
  }
  serve(resource, context, '');
  resource.touch(now, retention);
  if (holder === undefined) return { status: 'absent', now, left: 0 };
  return { status: 'renewed', now, left: endOf(holder, id) - now };
}
