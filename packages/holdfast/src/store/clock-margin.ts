/**
 * The option `clockMargin`: a lease lasts longer in the store than its holder believes.
 *
 * After a fail-over, or the move of a slot, another server ends leases by its own clock, which may
 * be ahead. So each lease is asked for with the margin, which is taken from the time left in a
 * reply: a holder stops before any clock within the margin ends the lease.
 */
import type { Command, Micros, Reply } from '../engine/commands.js';

/** @param margin in ms */
export function widened(command: Command, margin: number): Command {
  const { op } = command;
  if (op === 'renew' || op === 'renewMany') return { ...command, ttl: command.ttl + margin };
  if (op !== 'acquire' && op !== 'park' && op !== 'turn') return command;
  return { ...command, ttl: command.ttl + margin, claim: command.claim + margin };
}

/** @param margin in ms */
export function narrowed(reply: Reply, margin: number): Reply {
  const { status } = reply;
  if (status === 'granted' || status === 'renewed' || status === 'resized') {
    return { ...reply, left: without(reply.left, margin) };
  }
  if (status === 'renewals') {
    // numbers below 0 are codes
    return { ...reply, left: reply.left.map((left) => (left > 0 ? without(left, margin) : left)) };
  }
  if (status === 'polled') {
    return { ...reply, standings: reply.standings.map((one) => less(one, margin)) };
  }
  return 'again' in reply ? { ...reply, again: less(reply.again, margin) } : reply;
}

export function without(left: Micros, margin: number): Micros {
  return Math.max(0, left - margin * 1000);
}

function less<R extends { readonly status: string }>(reply: R, margin: number): R {
  const { left } = reply as { readonly left?: Micros };
  return reply.status === 'granted' ? { ...reply, left: without(left ?? 0, margin) } : reply;
}
