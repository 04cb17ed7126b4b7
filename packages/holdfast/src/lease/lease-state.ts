/** The state of a lease, and the error if it is not held. */
import { HoldfastError, isHoldfastError } from '../base/errors.js';
import { quote } from '../base/text.js';
import type { Hold } from './root.js';

/**
 * The state of a lease:
 *
 * - `held`: the lock is certainly held.
 * - `doubted`: unknown. Either the machine may have been suspended, and the store is being asked;
 *   or the time of the lease is over, and the answer to a renewal may have arrived unread. See
 *   `Lease.verify`.
 * - `parked`: the lock is given up at a condition, and will be taken back.
 * - `released`: this process released it.
 * - `lost`: it ended before it was released; `signal` has aborted.
 */
export type LeaseState = 'held' | 'doubted' | 'parked' | 'released' | 'lost';

export function notHeld(hold: Hold, parked: boolean): HoldfastError {
  const lease = `Holdfast: the lease of ${quote(hold.key)}`;
  const error = (code: 'HOLDFAST_LOST' | 'HOLDFAST_UNCERTAIN', what: string): HoldfastError =>
    new HoldfastError(code, `${lease} ${what}`, { key: hold.key });
  if (parked) return error('HOLDFAST_LOST', 'is given up at a condition');
  if (hold.state === 'released' || hold.state === 'left')
    return error('HOLDFAST_LOST', 'was released');
  if (hold.state === 'lost') return hold.lossError();
  const what = 'is in doubt: await lease.verify(), then check again';
  return error('HOLDFAST_UNCERTAIN', what);
}

/** The signal of `run` may abort for another reason. */
export function isLossOf(reason: unknown, key: string): reason is HoldfastError {
  return isHoldfastError(reason, 'HOLDFAST_LOST') && reason.key === key;
}
