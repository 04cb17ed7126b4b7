/**
 * Warning a holder that its lease is in danger.
 *
 * A lease that is renewed is in danger when a renewal has failed or is overdue, not because little
 * of it is left: one that was granted by push begins with little. A lease that is not renewed, or
 * no further, is in danger `expiringBefore` before it ends.
 */
import { quote } from '../text.js';
import type { LeaseRecord } from './lease-record.js';

/** The part of a lease before its end in which a renewal that is still missing is overdue. */
const OVERDUE = 1 / 3;

/** When to warn the holder of the present end, or of the end that `maxHold` sets. */
export function warnAt(record: LeaseRecord): number {
  return Math.min(renewalMissingAt(record), record.holdUntil - record.terms.expiringBefore);
}

/** Ms that are left before the end of which the holder is warned. */
export function leftAt(record: LeaseRecord, now: number): number {
  const end = now >= renewalMissingAt(record) ? record.validUntil : record.holdUntil;
  return Math.max(0, end - now);
}

function renewalMissingAt({ failing, renews, span, terms, validUntil }: LeaseRecord): number {
  const overdue = renews && !failing ? span * OVERDUE : Number.POSITIVE_INFINITY;
  return validUntil - Math.min(terms.expiringBefore, overdue);
}

/**
 * Calls the holder's callback. What it throws, or rejects with, is the holder's error: it must
 * neither stop the keeper nor end the process, so it becomes a warning of the process.
 */
export async function warn(record: LeaseRecord, remaining: number): Promise<void> {
  try {
    // a function that returns a promise may be given, too
    await (record.terms.onExpiring?.(remaining) as unknown);
  } catch (error) {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    process.emitWarning(`Holdfast: onExpiring of ${quote(record.key)} failed: ${text}`, {
      type: 'HoldfastWarning',
      code: 'HOLDFAST_ON_EXPIRING',
    });
  }
}
