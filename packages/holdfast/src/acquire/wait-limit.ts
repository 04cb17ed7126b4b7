/**
 * Ends a wait: at its limit, or when the signal of the caller aborts.
 *
 * Every acquisition waits for the first answer of the store, for at most `requestTimeout`, also if
 * its limit passes before. `HOLDFAST_TIMEOUT` means that the store answered, and that its last
 * answer was no failure; or that the request still waited for its turn, see `Requests`.
 */
import { aborted, onAbort } from '../base/abort.js';
import type { Clock } from '../base/clock.js';
import type { HoldfastError } from '../base/errors.js';
import * as failures from './failures.js';
import type { Call } from './call.js';

/** A call, and how the store has answered for it. */
type Waiting = Call & {
  readonly heard: boolean;
  readonly trouble: unknown;
  readonly unsent: boolean;
  readonly place: failures.Place;
};

/**
 * Ends the wait of a call in time. `giveUp` is called at most once. `ask`: the limit has passed,
 * and the next answer of the store ends the call.
 */
export function limitWait<W extends Waiting>(
  call: W,
  clock: Clock,
  giveUp: (call: W, error: HoldfastError) => void,
  ask?: (call: W) => void,
): void {
  const { key, terms } = call.request;
  const { wait, signal } = terms;
  if (wait > 0 && wait !== Number.POSITIVE_INFINITY) {
    const timer = clock.after(wait, () => {
      const isKnown = call.heard || call.trouble !== undefined || call.unsent;
      if (isKnown) return giveUp(call, endOfWait(call));
      call.overdue = true;
      ask?.(call);
    });
    call.cleanUp(() => timer.cancel());
  }
  if (signal !== undefined) {
    const abort = (): void => giveUp(call, aborted(key, signal.reason));
    call.cleanUp(onAbort(signal, abort));
  }
}

/** The error of a wait that reached its limit without a grant. */
export function endOfWait({ trouble, request, place }: Waiting): HoldfastError {
  const { key, terms } = request;
  if (trouble !== undefined) return failures.unreachable(key, trouble);
  return failures.timedOut(key, terms.wait, place);
}
