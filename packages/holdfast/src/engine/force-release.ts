/** Ends leases by force, and tells the holders' processes. */
import { FORCE_LIMIT } from './limits.js';
import type { Holder } from './entries.js';
import type { Resource } from './resource.js';
import { type CommandContext, serve } from './serve.js';
import type * as T from './commands.js';

export function force(
  resource: Resource | undefined,
  { id, retention }: T.ForceRelease,
  context: CommandContext,
): T.ForceReleaseReply {
  const { now, pushes } = context;
  if (resource === undefined) return { status: 'forced', now, ended: [], left: 0 };
  resource.dropExpired(now);
  const one = resource.leaseOf(id, now);
  const ended =
    id === '' ? resource.expiries.first(FORCE_LIMIT) : one === undefined ? [] : [one.id];
  let left = 0;
  for (const lease of ended) {
    const holder = resource.holders.get(lease) as Holder;
    left = Math.max(left, holder.expires - now);
    resource.remove(holder);
    for (const [channel, hold] of listeners(holder)) {
      pushes.push({ channel, push: { kind: 'revoke', id: hold } });
    }
  }
  serve(resource, context, '');
  resource.touch(now, retention);
  return { status: 'forced', now, ended, left };
}

function listeners({ id, channel, holds }: Holder): Map<string, string> {
  const first = new Map<string, string>();
  for (const [hold, own] of holds) if (!first.has(own.channel)) first.set(own.channel, hold);
  if (holds.size === 0) first.set(channel, id);
  first.delete('');
  return first;
}
