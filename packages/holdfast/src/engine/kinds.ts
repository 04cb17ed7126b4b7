/** The kinds of lock; all users of a key must agree on one. */

/** A mutex has the capacity 1. Only a semaphore's can be changed. */
export type LockKind = 'mutex' | 'semaphore' | 'rw-lock' | 'flight';

export const NUMBERS = { mutex: 1, semaphore: 2, 'rw-lock': 3, flight: 4 } as const;
const KINDS = Object.keys(NUMBERS) as LockKind[];

/** `''` for 0, and for a later version's number. */
export function kindOf(number: number): LockKind | '' {
  return KINDS[number - 1] ?? '';
}
