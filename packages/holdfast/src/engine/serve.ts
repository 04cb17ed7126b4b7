/**
 * Serving the queue: the heart of direct hand-off.
 *
 * Whoever finds free capacity makes the head of the queue a holder and tells its process, and goes
 * on for as long as the head fits. Strict order: a head that does not fit is waited for, so no
 * large request starves (I4). A waiter whose channel has no subscriber, or whose process is silent
 * (see `processes.ts`), is dead and loses its place; if it lives after all, it gets the place back
 * with its ticket. A waiter without a channel is granted in turn, and finds it by polling (I5). A
 * waiter that cannot be granted at all (see `hopeless`) loses its place too: it finds that out by
 * polling, asks again, and is told why.
 */
import { HOLD_LIMIT, SERVE_LIMIT } from './limits.js';
import type { Holder, Joining, Resource, Waiter } from './resource.js';
import type { Conflict, Crowded, Granted, Micros, Push } from './commands.js';
import { redeliverSignals } from './signals.js';

/** A push, and where it goes. */
export interface Addressed {
  readonly channel: string;
  readonly push: Push;
}

/** What serving needs to know of the world outside the resource. */
export interface CommandContext {
  readonly now: Micros;
  /** How many have subscribed to exactly this channel. */
  receivers(channel: string): number;
  /** Where pushes are collected. */
  readonly pushes: Addressed[];
  /** Set if the queue was served in part only. */
  more: boolean;
}

/** Whether an acquisition may join the live lease of its owner. */
export function joins(own: Holder, { weight }: { weight: number }): boolean {
  return own.weight >= weight && own.holds.size < HOLD_LIMIT;
}

/**
 * Whether waiting leads nowhere: the lease of the waiter's own owner is smaller than what it wants
 * or has as many holds as it may have; or the waiter wants more than there is.
 */
function hopeless(resource: Resource, waiter: Waiter, own: Holder | undefined): boolean {
  return own === undefined ? waiter.weight > resource.capacity : !joins(own, waiter);
}

/** An acquisition by the owner of a live lease joins that lease, or cannot have what it wants. */
export function rejoin(
  resource: Resource,
  wanted: Joining & Pick<Waiter, 'owner' | 'ttl'>,
  now: Micros,
): Granted | Conflict | Crowded | undefined {
  const own = resource.leaseOfOwner(wanted.owner, now);
  if (own === undefined) return undefined;
  const signalled = resource.dequeue(wanted.id)?.signalled ?? '';
  if (!joins(own, wanted)) {
    if (signalled !== '') resource.unconsumedSignals.push(signalled);
    if (own.weight < wanted.weight) return { status: 'conflict', now, weight: own.weight };
    return { status: 'crowded', now, holds: own.holds.size };
  }
  return granted(resource.join(own, wanted, now, wanted.ttl, signalled), now);
}

/**
 * Grants what can be granted, in order. `self` is the asker: its reply tells it, so it gets a full
 * lease and no push.
 */
export function serve(resource: Resource, context: CommandContext, self: string): void {
  redeliverSignals(resource, context);
  for (let count = 0; count < SERVE_LIMIT; count++) {
    const id = resource.queue.at(0);
    if (id === undefined) return;
    const waiter = resource.waiters.get(id) as Waiter;
    const own = resource.leaseOfOwner(waiter.owner, context.now);
    const drop = hopeless(resource, waiter, own);
    if (!drop && own === undefined && !resource.fits(waiter.weight)) return;
    resource.dequeue(id);
    const dead = id !== self && isDead(resource, context, waiter);
    if (drop || dead) {
      if (waiter.signalled !== '') resource.unconsumedSignals.push(waiter.signalled);
      redeliverSignals(resource, context);
      continue;
    }
    deliver(resource, context, waiter, own, id === self);
  }
  context.more = resource.queue.size > 0;
}

function isDead(resource: Resource, context: CommandContext, { id, channel }: Waiter): boolean {
  if (resource.processes.isSilent(id, context.now)) return true;
  return channel !== '' && context.receivers(channel) === 0;
}

/** When to ask again at the latest: at the next expiry, or at once if there is more to serve. */
export function next(resource: Resource, { now, more }: CommandContext): Micros {
  return more ? 0 : resource.next(now);
}

/** What a lease looks like to whoever holds it. */
export function granted(holder: Holder, now: Micros): Granted {
  const { fence, handOffs } = holder;
  const holds = Math.max(1, holder.holds.size);
  return { status: 'granted', now, fence, left: holder.expires - now, handOffs, holds };
}

function deliver(
  resource: Resource,
  { now, pushes }: CommandContext,
  waiter: Waiter,
  own: Holder | undefined,
  isSelf: boolean,
): void {
  // a pushed lease is short until its holder renews it: a waiter that is frozen costs the queue no
  // more than this
  const lease = isSelf ? waiter.ttl : Math.min(waiter.ttl, waiter.claim);
  const holder =
    own === undefined
      ? resource.grant(waiter, now, lease)
      : resource.join(own, waiter, now, lease, waiter.signalled);
  if (isSelf || waiter.channel === '') return;
  const { fence, handOffs } = holder;
  const left = holder.expires - now;
  const holds = Math.max(1, holder.holds.size);
  const { id, token, channel } = waiter;
  const push = { kind: 'grant', id, fence, now, left, handOffs, holds, token } as const;
  pushes.push({ channel, push });
}
