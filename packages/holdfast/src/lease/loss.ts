/** Why a lease was lost. */
import type { Hold } from './root.js';

export type LossReason =
  | 'expired'
  | 'gone'
  | 'forced'
  | 'max-hold'
  | 'closed'
  | 'parked'
  | 'unlocked'
  // a text that only some programs carry
  | `the lock of ${string}`
  | `it was ended by force by ${string}`;

export const LOSS: Readonly<Record<string, string>> = {
  gone: 'the store does not know it any more',
  forced: 'it was ended by force',
  'max-hold': 'it was held for as long as maxHold allows',
  closed: 'its Holdfast instance was closed',
  parked: 'it was given up to wait at a condition, and not granted again',
  unlocked: 'its owner ended it with ownerLocks.unlock',
};

export function expiry({ root, terms, renewed }: Hold): string {
  const { failure, unanswered } = root.renewal;
  if (!terms.renew) return `its ttl of ${terms.ttl} ms has passed, and renew is false`;
  if (!renewed) return `its ttl of ${terms.ttl} ms has passed, and its renewal was stopped`;
  const late = 'it could not be renewed in time: ';
  if (failure !== undefined) return late + failure.message;
  if (unanswered > 0) return `${late}the store has not answered`;
  return `${late}the process was blocked or suspended`;
}

export function notRenewed(): Error {
  return new Error('the server did not renew it');
}
