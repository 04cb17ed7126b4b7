/**
 * Serves the queue: the store grants freed permits directly to waiters.
 *
 * A command that finds free capacity grants it to the head of the queue, notifies its process, and
 * repeats this while the head fits. Then later waiters wait too, so no large request starves (I4).
 * A waiter whose channel has no subscriber, or whose process is silent (see `processes.ts`), loses
 * its place. A waiter without a channel finds its grant by polling (I5). One that can never be
 * granted loses its place too; its repeated request gets the reason.
 */
import { HOLD_LIMIT, SERVE_LIMIT } from './limits.js';
import { endOf, type Holder, type Joining, type Waiter } from './entries.js';
import type { Resource } from './resource.js';
import type { Conflict, Crowded, Granted, Micros, Push } from './commands.js';
import { askPaused } from './idle.js';
import { redeliverSignals } from './signals.js';

export interface Addressed {
  readonly channel: string;
  readonly push: Push;
}

export interface CommandContext {
  readonly now: Micros;
  receivers(channel: string): number;
  readonly pushes: Addressed[];
  /** `SERVE_LIMIT` ended the service. */
  more: boolean;
  /** A paused process was granted, and no waiter was asked yet, see `idle.ts`. */
  pausedGrant: boolean;
  readonly floor: number;
}

export function joins(own: Holder, { weight }: { weight: number }): boolean {
  return own.weight >= weight && own.holds.size < HOLD_LIMIT;
}

/**
 * Can never be granted: its owner's lease is smaller or has the most holds, or its weight is above
 * the capacity.
 */
function hopeless(resource: Resource, waiter: Waiter, own: Holder | undefined): boolean {
  return own === undefined ? waiter.weight > resource.capacity : !joins(own, waiter);
}

/** Joins the live lease of its owner, or returns why not. */
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
  return granted(resource.join(own, wanted, now, wanted.ttl, signalled), wanted.id, now);
}

/**
 * `self` is the acquisition of the command: it gets a full lease and no push, because the reply
 * tells it.
 */
export function serve(resource: Resource, context: CommandContext, self: string): void {
  redeliverSignals(resource, context);
  grantInOrder(resource, context, self);
  askPaused(resource, context);
}

function grantInOrder(resource: Resource, context: CommandContext, self: string): void {
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

/** Microseconds until the next poll is due: the next expiry, or at once after `SERVE_LIMIT`. */
export function next(resource: Resource, { now, more }: CommandContext): Micros {
  return more ? 0 : resource.next(now);
}

export function ahead({ queue, holders }: Resource, id: string): string {
  const rank = queue.size - 1;
  if (queue.at(rank) !== id) return '';
  if (rank > 0) return queue.at(rank - 1) as string;
  const [only = ''] = holders.size === 1 ? holders.keys() : [];
  return only;
}

export function granted(holder: Holder, id: string, now: Micros): Granted {
  const { fence, handOffs } = holder;
  const holds = Math.max(1, holder.holds.size);
  return { status: 'granted', now, fence, left: endOf(holder, id) - now, handOffs, holds };
}

function deliver(
  resource: Resource,
  context: CommandContext,
  waiter: Waiter,
  own: Holder | undefined,
  isSelf: boolean,
): void {
  const { now, pushes } = context;
  // a pushed lease lasts for the claim window until it is renewed, so a frozen waiter delays the
  // queue no longer
  const lease = isSelf ? waiter.ttl : Math.min(waiter.ttl, waiter.claim);
  const holder =
    own === undefined
      ? resource.grant(waiter, now, lease)
      : resource.join(own, waiter, now, lease, waiter.signalled);
  if (isSelf || waiter.channel === '') return;
  if (resource.processes.isPaused(waiter.id)) context.pausedGrant = true;
  const { fence, handOffs } = holder;
  const { id, token, channel } = waiter;
  const left = endOf(holder, id) - now;
  const holds = Math.max(1, holder.holds.size);
  const push = { kind: 'grant', id, fence, now, left, handOffs, holds, token } as const;
  pushes.push({ channel, push });
}
