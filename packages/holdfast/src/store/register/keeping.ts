/** How long the state of a key is kept in this process. */
import type { Resource } from '../../engine/resource.js';
import type { Pending } from './pending.js';

/** A kept state is read again after this time, because its time is estimated. */
export const KEEP_MS = 5000;

/** A renewal counts with an older state: its lease is shorter by a part of its length. */
export function keepMsFor(batch: readonly Pending[]): number {
  let least = Number.POSITIVE_INFINITY;
  for (const { command } of batch) {
    least = Math.min(least, command.op === 'renew' ? command.ttl : 0);
  }
  return Math.max(KEEP_MS, least);
}

/**
 * When the last lease of this process ends, on the local clock, after a change.
 * @param before the same before it
 */
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
