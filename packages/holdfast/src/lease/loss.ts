/** Why a lease was lost. */

export type LossReason =
  | 'expired'
  | 'gone'
  | 'forced'
  | 'max-hold'
  | 'closed'
  | 'parked'
  | 'unlocked'
  | 'other-lock';

/** For messages. */
export const LOSS: Record<LossReason, string> = {
  expired: 'it could not be renewed in time',
  gone: 'the store does not know it any more',
  forced: 'it was ended by force',
  'max-hold': 'it was held for as long as maxHold allows',
  closed: 'its Holdfast instance was closed',
  parked: 'it was given up to wait at a condition, and not granted again',
  unlocked: 'its owner ended it with ownerLocks.unlock',
  'other-lock': 'the lock of the other library was lost',
};
