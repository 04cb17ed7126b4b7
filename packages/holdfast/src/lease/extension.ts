/** Extends a lease for its holder. */
import { duration } from '../base/checks.js';
import { badOption, HoldfastError } from '../base/errors.js';
import { quote } from '../base/text.js';
import type { Grantor, Lease } from './lease.js';
import type { Hold } from './root.js';

const LONGEST_MS = 86_400_000;
/** The most requests, if less than the requested time remains after an answer. */
export const EXTENSIONS_MAX = 3;

export function checkMs(ms: unknown, least: number): void {
  if (ms === undefined) throw badOption('ms', 'a number of milliseconds', ms);
  duration('ms', ms, 0, least, LONGEST_MS);
}

export async function extendLease(lease: Lease, grantor: Grantor, ms: number): Promise<number> {
  const { clock } = grantor;
  // an answer that is slow, or whose time is known by bounds, leaves less than was requested: the
  // next request asks for more
  let late = 0;
  for (let tries = 0; tries < EXTENSIONS_MAX; tries++) {
    const asked = clock.now();
    const left = await extendOnce(lease, grantor, ms, late);
    if (left >= ms) return left;
    late = Math.max(2 * (clock.now() - asked), late + ms - left);
  }
  throw notExtended(lease, ms);
}

export function notExtended({ key, remaining }: Lease, ms: number): HoldfastError {
  const message =
    `Holdfast: "${key}" was not extended to ${ms} ms, as the store answers too slowly; ` +
    `it is held for ${Math.floor(remaining)} ms`;
  return new HoldfastError('HOLDFAST_UNCERTAIN', message, { key });
}

export function checkEnd({ holdUntil, key, terms }: Hold, ms: number, now: number): void {
  if (now + ms <= holdUntil) return;
  const message =
    `Holdfast: option "ms" must end within maxHold (${terms.maxHold} ms after the grant), ` +
    `not ${ms} ms from now`;
  throw new HoldfastError('HOLDFAST_BAD_OPTION', message, { option: 'ms', key });
}

/** Asks for `ms` and `more` from now. */
async function extendOnce(
  lease: Lease,
  { clock, watchdog }: Grantor,
  ms: number,
  more: number,
): Promise<number> {
  const { hold, state } = lease;
  if (state === 'parked') throw lease.notHeld();
  checkEnd(hold, ms, clock.now());
  // an answer that has arrived may extend a lease whose time is over; the answer to this request
  // ends the doubt after a suspend, unless it needs the fence
  if (clock.now() >= hold.validUntil || hold.root.uncertain) await watchdog.verified(hold);
  if (hold.state !== 'held') throw lease.notHeld();
  try {
    // at least `ms` remains without the drift margin
    const status = await watchdog.renew(hold.root, (ms + more) * 1.02 + 10);
    if (status === 'absent') await watchdog.gone(hold.root);
  } catch (cause) {
    const message = `Holdfast: the store did not answer the extension of ${quote(hold.key)}`;
    throw new HoldfastError('HOLDFAST_UNCERTAIN', message, { key: hold.key, cause });
  }
  if (!lease.held) throw lease.notHeld();
  return lease.remaining;
}
