/** The kinds of lock that a key can be in use as. All users of a key must agree on one. */

/** A mutex has the capacity 1. Only the capacity of a semaphore can be changed. */
export type LockKind = 'mutex' | 'semaphore' | 'rw-lock' | 'flight';

/** The number of each kind in the arguments and records of the scripts. */
export const NUMBERS = { mutex: 1, semaphore: 2, 'rw-lock': 3, flight: 4 } as const;
const KINDS = Object.keys(NUMBERS) as LockKind[];

/** `''` for 0, and for a number of a later version. */
export function kindOf(number: number): LockKind | '' {
  return KINDS[number - 1] ?? '';
}
