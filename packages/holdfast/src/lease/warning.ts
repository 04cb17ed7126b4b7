/**
 * Warns a holder that its lease is in danger.
 *
 * A renewed lease is in danger when a renewal has failed or is overdue. A short remaining time
 * alone is none, because a lease that was granted by push starts with little. Another lease is in
 * danger `expiringBefore` before its end.
 */
import { afterIo } from '../base/clock.js';
import type { Telemetry } from '../observe/telemetry.js';
import { drift } from './local-time.js';
import type { Hold } from './root.js';

/** The last part of a lease, in which a missing renewal is overdue. */
const OVERDUE = 1 / 3;

export function warnAt(hold: Hold): number {
  return Math.min(renewalMissingAt(hold), hold.holdUntil - hold.terms.expiringBefore);
}

/** In ms. */
function leftAt(hold: Hold, now: number): number {
  const end = now >= renewalMissingAt(hold) ? hold.validUntil : hold.holdUntil;
  return Math.max(0, end - now);
}

function renewalMissingAt({ root, terms, validUntil }: Hold): number {
  const { failure, span } = root.renewal;
  const overdue = root.renews && failure === undefined ? span * OVERDUE : Number.POSITIVE_INFINITY;
  return validUntil - Math.min(terms.expiringBefore, overdue);
}

/**
 * Allows another warning after the danger: by more than the drift margin, as a newer answer may
 * report slightly less time.
 */
export function rearm(hold: Hold, now: number): void {
  if (warnAt(hold) - now > drift(hold.terms.ttl)) hold.warned = false;
}

/** Unless an answer that has arrived ends the danger. */
export function warnSoon(hold: Hold, telemetry: Telemetry): void {
  const { clock } = telemetry;
  hold.warned = true;
  afterIo(clock, () => {
    const now = clock.now();
    if (hold.state !== 'held' || now < warnAt(hold)) return;
    // an error of the callback must neither stop the watchdog nor end the process
    const warn = async (): Promise<unknown> => hold.terms.onExpiring?.(leftAt(hold, now));
    warn().catch((error: unknown) => telemetry.warn('threw', 'onExpiring', error, hold.key));
  });
}
