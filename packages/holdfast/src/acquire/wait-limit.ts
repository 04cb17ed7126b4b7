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
import type { Acquisition } from './acquisition.js';

/** Ends a waiter's wait in time. `giveUp` is called once at most. */
export function limitWait(
  acquisition: Acquisition,
  clock: Clock,
  giveUp: (acquisition: Acquisition, error: HoldfastError) => void,
): void {
  const { key, terms } = acquisition.request;
  const { wait, signal } = terms;
  if (wait > 0 && wait !== Number.POSITIVE_INFINITY) {
    const timer = clock.after(wait, () => {
      if (!acquisition.heard && acquisition.trouble === undefined) acquisition.overdue = true;
      else giveUp(acquisition, endOfWait(acquisition));
    });
    acquisition.cleanUp(() => timer.cancel());
  }
  if (signal !== undefined) {
    const abort = (): void => giveUp(acquisition, failures.aborted(key, signal.reason));
    acquisition.cleanUp(onAbort(signal, abort));
  }
}

/** Why a wait that has reached its limit ended without a grant. */
export function endOfWait({ trouble, request }: Acquisition): HoldfastError {
  const { key, terms } = request;
  if (trouble !== undefined) return failures.unreachable(key, trouble);
  return failures.timedOut(key, terms.wait);
}
