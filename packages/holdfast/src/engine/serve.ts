/**
 * Serving the queue: the heart of direct hand-off.
 *
 * Whoever finds free capacity makes the head of the queue a holder and tells its process, and goes
 * on for as long as the head fits. Strict order: a head that does not fit is waited for, so no
 * large request starves (I4). A waiter whose channel nobody listens to is dead and loses its place
 * (it gets it back with its ticket, should it live after all). A waiter without a channel is
 * granted in turn, and finds it by polling (I5). A waiter that cannot be granted at all (see
 * `hopeless`) loses its place too: it finds that out by polling, asks again, and is told why.
 */
import { HOLD_LIMIT, SERVE_LIMIT } from './limits.js';
import type { Holder, Resource, Waiter } from './resource.js';
import type { Granted, Micros, Push } from './types.js';
import { settle } from './wake.js';

/** A push, and where it goes. */
export interface Addressed {
  readonly channel: string;
  readonly push: Push;
}

/** What serving needs to know of the world outside the resource. */
export interface Outside {
  readonly now: Micros;
  /** How many listen on a channel. */
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

/**
 * Grants what can be granted, in order. `self` is the asker: its reply tells it, so it gets a full
 * lease and no push.
 */
export function serve(resource: Resource, outside: Outside, self: string): void {
  settle(resource, outside);
  for (let count = 0; count < SERVE_LIMIT; count++) {
    const id = resource.queue.at(0);
    if (id === undefined) return;
    const waiter = resource.waiters.get(id) as Waiter;
    const own = resource.leaseOfOwner(waiter.owner, outside.now);
    const drop = hopeless(resource, waiter, own);
    if (!drop && own === undefined && !resource.fits(waiter.weight)) return;
    resource.dequeue(id);
    const dead = id !== self && waiter.channel !== '' && outside.receivers(waiter.channel) === 0;
    if (drop || dead) {
      if (waiter.signalled !== '') resource.owed.push(waiter.signalled);
      settle(resource, outside);
      continue;
    }
    deliver(resource, outside, waiter, own, id === self);
  }
  outside.more = resource.queue.size > 0;
}

/** What a lease looks like to whoever holds it. */
export function granted(holder: Holder, now: Micros): Granted {
  const { fence, passes } = holder;
  const holds = Math.max(1, holder.holds.size);
  return { status: 'granted', now, fence, left: holder.expires - now, passes, holds };
}

function deliver(
  resource: Resource,
  { now, pushes }: Outside,
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
      : resource.join(own, waiter.id, now, lease, waiter.signalled);
  if (isSelf || waiter.channel === '') return;
  const { fence, passes } = holder;
  const left = holder.expires - now;
  const holds = Math.max(1, holder.holds.size);
  const { id, token, channel } = waiter;
  const push = { kind: 'grant', id, fence, now, left, passes, holds, token } as const;
  pushes.push({ channel, push });
}
