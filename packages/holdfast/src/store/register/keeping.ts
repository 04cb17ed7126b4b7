/** How long a state is kept. */
import type { Resource } from '../../engine/resource.js';
import type { Pending } from './pending.js';

/** Its time is estimated. */
export const KEEP_MS = 5000;

/** Longer for renewals: their leases are then a little shorter. */
export function keepMsFor(batch: readonly Pending[]): number {
  let least = Number.POSITIVE_INFINITY;
  for (const { command } of batch) {
    least = Math.min(least, command.op === 'renew' ? command.ttl : 0);
  }
  return Math.max(KEEP_MS, least);
}

/** When this process' last lease ends, on the local clock. */
export function heldUntil(
  batch: readonly Pending[],
  resource: Resource | undefined,
  now: number,
  before: number,
): number {
  if (resource === undefined || resource.holders.size === 0) return Number.NEGATIVE_INFINITY;
  let until = before;
  for (const { command } of batch) {
    const { op } = command;
    if ((op !== 'acquire' && op !== 'renew') || !resource.hasLease(command.id)) continue;
    until = Math.max(until, now + command.ttl);
  }
  return until;
}
