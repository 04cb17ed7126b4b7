/**
 * Ends a wait: at its limit, or when the signal of the caller aborts.
 *
 * Every acquisition waits for the first answer of the store, for at most `requestTimeout`, also if
 * its limit passes before. `HOLDFAST_TIMEOUT` means that the store answered, and that its last
 * answer was no failure.
 */
import { onAbort } from '../abort.js';
import type { Clock } from '../clock.js';
import type { HoldfastError } from '../errors.js';
import * as failures from './failures.js';
import type { Acquisition } from './acquisition.js';

/** Ends the wait of an acquisition in time. `giveUp` is called at most once. */
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

/** The error of a wait that reached its limit without a grant. */
export function endOfWait({ trouble, request }: Acquisition): HoldfastError {
  const { key, terms } = request;
  if (trouble !== undefined) return failures.unreachable(key, trouble);
  return failures.timedOut(key, terms.wait);
}
