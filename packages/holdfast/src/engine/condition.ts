/**
 * Conditions: releases a lease and parks in one step, and wakes parked waiters.
 *
 * A signal survives the end of its receiver. The waiter, and then its lease, remember the condition
 * until the holder itself ends the lease, by release or by parking again. If the lease or the wait
 * ends otherwise (a dead channel, a withdrawal, expiry after a crash, force), the next parked
 * waiter gets the signal. So a signal may wake one waiter too many, never one too few: a woken
 * waiter must check its condition again.
 */
import type { Resource } from './resource.js';
import { NOTHING_SENT } from './entries.js';
import { granted, type CommandContext, serve } from './serve.js';
import type * as T from './commands.js';
import { redeliverSignals, wake } from './signals.js';

export function park(
  resource: Resource | undefined,
  wanted: T.Park,
  context: CommandContext,
): T.ParkReply {
  const { now } = context;
  if (resource === undefined) return { status: 'absent', now };
  resource.dropExpired(now);
  redeliverSignals(resource, context);
  const refusal =
    wanted.want === 'nothing' ? giveUp(resource, wanted, now) : enter(resource, wanted, now);
  serve(resource, context, wanted.as);
  resource.touch(now, wanted.retention);
  return refusal ?? standing(resource, wanted.as, now);
}

function enter(resource: Resource, wanted: T.Park, now: T.Micros): T.ParkReply | undefined {
  const { id, as, want, channel, token, retention } = wanted;
  const known = resource.parking.get(as) ?? resource.waiters.get(as);
  if (known !== undefined) {
    resource.readdress(known, wanted);
    resource.parking.hear(as, now, retention);
  } else if (resource.leaseOf(as, now) === undefined) {
    const holder = resource.leaseOf(id, now);
    if (holder === undefined) return { status: 'absent', now };
    const holds = Math.max(1, holder.holds.size);
    // with other holds, another holder could remain
    const others = resource.kind !== 'mutex';
    if (holds > 1 || others) return { status: 'shared', now, holds };
    const length = resource.parking.size;
    if (want === 'signal' && length >= wanted.maxParked) return { status: 'full', now, length };
    const { owner, weight } = holder;
    const { condition, ttl, claim, fair, meta } = wanted;
    resource.leave(holder, id);
    resource.takeBackFences(holder, wanted.used);
    const asked = { id: as, condition, owner, weight, ttl, claim, fair, meta };
    resource.park({ ...asked, channel, token }, now, retention);
  }
  resource.processes.hear(as, now, wanted.patience);
  if (want === 'signal') return undefined;
  const parked = resource.parking.remove(as);
  if (parked !== undefined) resource.enqueue({ ...parked, handOffs: 0, ticket: 0 }, now);
  return undefined;
}

function giveUp(resource: Resource, { id, as }: T.Park, now: T.Micros): T.ParkReply {
  resource.parking.remove(as);
  const waiter = resource.dequeue(as);
  if (waiter !== undefined && waiter.signalled !== '')
    resource.unconsumedSignals.push(waiter.signalled);
  const unused = resource.leaseOf(as, now);
  if (unused !== undefined) {
    const { signalled } = unused;
    if (resource.leave(unused, as) && signalled !== '') resource.unconsumedSignals.push(signalled);
  }
  const holder = resource.leaseOf(id, now);
  if (holder !== undefined) resource.leave(holder, id);
  return { status: 'absent', now };
}

function standing(resource: Resource, as: string, now: T.Micros): T.ParkReply {
  const holder = resource.leaseOf(as, now);
  if (holder !== undefined) {
    return { ...granted(holder, as, now), signalled: holder.signalled !== '' };
  }
  const waiter = resource.waiters.get(as);
  if (waiter === undefined) return { status: 'parked', now };
  const { ticket, signalled } = waiter;
  const next = resource.next(now);
  return { status: 'queued', now, ticket, next, signalled: signalled !== '' };
}

export function signal(
  resource: Resource | undefined,
  { id, condition, count, seq, retention }: T.Signal,
  context: CommandContext,
): T.SignalReply {
  const { now } = context;
  if (resource === undefined) return { status: 'absent', now, woken: 0, left: 0 };
  resource.dropExpired(now);
  redeliverSignals(resource, context);
  // only waiters of a mutex are parked
  const holder = resource.kind === 'mutex' ? resource.leaseOf(id, now) : undefined;
  const own = holder?.holds.get(id) ?? holder;
  if (own !== undefined && seq > (own.sent?.seq ?? 0)) {
    const woken = wake(resource, context, condition, count);
    resource.noteSignal(own, { seq, woken, left: resource.parking.count(condition) });
  }
  serve(resource, context, '');
  resource.touch(now, retention);
  if (own === undefined) return { status: 'absent', now, woken: 0, left: 0 };
  const { woken, left } = own.sent?.seq === seq ? own.sent : NOTHING_SENT;
  return { status: 'signalled', now, woken, left };
}
