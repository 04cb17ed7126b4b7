/** Extends a lease. */
import type * as T from './commands.js';
import type { Resource } from './resource.js';
import { type CommandContext, serve } from './serve.js';

/** The renewal of one lease by `RenewMany`. */
export interface LazyRenew extends T.Renew {
  /** See `Resource.touch`. */
  readonly lazy?: boolean;
}

export function renew(
  resource: Resource | undefined,
  { id, ttl, retention, lazy = false }: LazyRenew,
  context: CommandContext,
): T.RenewReply {
  const { now } = context;
  if (resource === undefined) return { status: 'absent', now, left: 0 };
  resource.dropExpired(now);
  const holder = resource.leaseOf(id, now);
  if (holder !== undefined) resource.extend(holder, now + ttl * 1000);
  serve(resource, context, '');
  resource.touch(now, retention, lazy);
  if (holder === undefined) return { status: 'absent', now, left: 0 };
  return { status: 'renewed', now, left: holder.expires - now };
}
