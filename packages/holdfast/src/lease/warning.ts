/**
 * Warns a holder that its lease is in danger.
 *
 * A lease that is renewed is in danger when a renewal has failed or is overdue. A short remaining
 * time alone is no danger, because a lease that was granted by push starts with little. A lease
 * that is not renewed, or not any longer, is in danger `expiringBefore` before its end.
 */
import { afterIo } from '../clock.js';
import type { Telemetry } from '../telemetry.js';
import { drift, type LeaseRecord } from './lease-record.js';

/** The last part of a lease, in which a missing renewal is overdue. */
const OVERDUE = 1 / 3;

/** When to warn the holder of the current end, or of the end that `maxHold` sets. */
export function warnAt(record: LeaseRecord): number {
  return Math.min(renewalMissingAt(record), record.holdUntil - record.terms.expiringBefore);
}

/** The remaining ms before the end of which the holder is warned. */
function leftAt(record: LeaseRecord, now: number): number {
  const end = now >= renewalMissingAt(record) ? record.validUntil : record.holdUntil;
  return Math.max(0, end - now);
}

function renewalMissingAt({ failure, renews, span, terms, validUntil }: LeaseRecord): number {
  const overdue = renews && failure === undefined ? span * OVERDUE : Number.POSITIVE_INFINITY;
  return validUntil - Math.min(terms.expiringBefore, overdue);
}

/**
 * Allows another warning after the danger has passed: by more than the drift margin, as a newer
 * answer may report slightly less remaining time.
 */
export function rearm(record: LeaseRecord, now: number): void {
  if (warnAt(record) - now > drift(record.terms.ttl)) record.warned = false;
}

/** Warns the holder, unless an answer that has arrived ends the danger. */
export function warnSoon(record: LeaseRecord, telemetry: Telemetry): void {
  const { clock } = telemetry;
  record.warned = true;
  afterIo(clock, () => {
    const now = clock.now();
    if (record.state === 'held' && now >= warnAt(record))
      void warn(record, leftAt(record, now), telemetry);
  });
}

/**
 * Calls the callback of the holder. If it throws or rejects, that must neither stop the watchdog
 * nor end the process, so the error becomes a warning.
 */
async function warn(record: LeaseRecord, remaining: number, telemetry: Telemetry): Promise<void> {
  try {
    // the callback may return a promise
    await (record.terms.onExpiring?.(remaining) as unknown);
  } catch (error) {
    telemetry.warn('threw', 'onExpiring', error, record.key);
  }
}
