/**
 * The end of a wait: at its limit, or when the caller's signal aborts.
 *
 * A limit never gets less than no wait at all: the first answer of the store is awaited, for
 * `requestTimeout` at most, although the limit may pass before it. And a wait that ends says why:
 * `HOLDFAST_TIMEOUT` only if the store has answered, and its last answer was no failure.
 */
import { onAbort } from '../abort.js';
import type { Clock } from '../clock.js';
import type { HoldfastError } from '../errors.js';
import * as failures from './failures.js';
import type { Waiter } from './waiter.js';

/** Ends a waiter's wait in time. `giveUp` is called once at most. */
export function limitWait(
  waiter: Waiter,
  clock: Clock,
  giveUp: (waiter: Waiter, error: HoldfastError) => void,
): void {
  const { key, terms } = waiter.wanted;
  const { wait, signal } = terms;
  if (wait > 0 && wait !== Number.POSITIVE_INFINITY) {
    const timer = clock.after(wait, () => {
      if (!waiter.heard && waiter.trouble === undefined) waiter.overdue = true;
      else giveUp(waiter, endOfWait(waiter));
    });
    waiter.cleanUp(() => timer.cancel());
  }
  if (signal !== undefined) {
    const abort = (): void => giveUp(waiter, failures.aborted(key, signal.reason));
    waiter.cleanUp(onAbort(signal, abort));
  }
}

/** Why a wait that has reached its limit ended without a grant. */
export function endOfWait({ trouble, wanted }: Waiter): HoldfastError {
  const { key, terms } = wanted;
  if (trouble !== undefined) return failures.unreachable(key, trouble);
  return failures.timedOut(key, terms.wait);
}
