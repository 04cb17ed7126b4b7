/** How a lease stands, and the error of one that is not held. */
import { HoldfastError } from '../errors.js';
import { quote } from '../text.js';
import type { LeaseRecord } from './lease-record.js';

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
export function notHeld(record: LeaseRecord, parked: boolean): HoldfastError {
  const lease = `Holdfast: the lease of ${quote(record.key)}`;
  const error = (code: 'HOLDFAST_LOST' | 'HOLDFAST_UNCERTAIN', what: string): HoldfastError =>
    new HoldfastError(code, `${lease} ${what}`, { key: record.key });
  if (parked) return error('HOLDFAST_LOST', 'is given up at a condition');
  if (record.state === 'released') return error('HOLDFAST_LOST', 'was released');
  if (record.state === 'lost') return record.lossError();
  const what = 'is in doubt, and the store is being asked: await lease.verify(), then ask again';
  return error('HOLDFAST_UNCERTAIN', what);
}
