/** Extends a lease. */
import type * as T from './commands.js';
import type { Resource } from './resource.js';
import { type CommandContext, serve } from './serve.js';

export function renew(
  resource: Resource | undefined,
  { id, ttl, retention }: T.Renew,
  context: CommandContext,
): T.RenewReply {
  const { now } = context;
  if (resource === undefined) return { status: 'absent', now, left: 0 };
  resource.dropExpired(now);
  const holder = resource.leaseOf(id, now);
  if (holder !== undefined) resource.extend(holder, now + ttl * 1000);
  serve(resource, context, '');
  resource.touch(now, retention);
  if (holder === undefined) return { status: 'absent', now, left: 0 };
  return { status: 'renewed', now, left: holder.expires - now };
}
