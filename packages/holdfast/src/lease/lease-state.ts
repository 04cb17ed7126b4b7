/** How a lease stands, and the error of one that is not held. */
import { HoldfastError } from '../errors.js';
import { quote } from '../text.js';
import type { Grip } from './grip.js';

/**
 * How a lease stands:
 *
 * - `held`: the lock is surely held.
 * - `doubted`: neither held nor lost. The machine may have slept, and the store is being asked; or
 *   the lease's time is over, and the answer to a renewal may have arrived unread. See
 *   `Lease.verify`.
 * - `parked`: the lock is given up at a condition, and is taken back.
 * - `released`: it was released here.
 * - `lost`: it ended before it was released; `signal` has aborted.
 */
export type LeaseState = 'held' | 'doubted' | 'parked' | 'released' | 'lost';

/**
 * Why a lease is not held.
 * @param parked true if it is given up at a condition
 */
export function notHeld(grip: Grip, parked: boolean): HoldfastError {
  const lease = `Holdfast: the lease of ${quote(grip.key)}`;
  const error = (code: 'HOLDFAST_LOST' | 'HOLDFAST_UNCERTAIN', what: string): HoldfastError =>
    new HoldfastError(code, `${lease} ${what}`, { key: grip.key });
  if (parked) return error('HOLDFAST_LOST', 'is given up at a condition');
  if (grip.state === 'released') return error('HOLDFAST_LOST', 'was released');
  if (grip.state === 'lost') return grip.lossError();
  const what = 'is in doubt, and the store is being asked: await lease.verify(), then ask again';
  return error('HOLDFAST_UNCERTAIN', what);
}
