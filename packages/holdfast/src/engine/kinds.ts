/** The kinds of lock that a key can be in use as. All users of a key must agree on one. */

/** A mutex has the capacity 1. Only the capacity of a semaphore can be changed. */
export type LockKind = 'mutex' | 'semaphore' | 'rw-lock' | 'flight';

/** In the arguments and records of the scripts, a kind is its place here, from 1. */
const KINDS: readonly LockKind[] = ['mutex', 'semaphore', 'rw-lock', 'flight'];

export function numberOf(kind: LockKind): number {
  return KINDS.indexOf(kind) + 1;
}

/** `''` for 0, and for a number of a later version. */
export function kindOf(number: number): LockKind | '' {
  return KINDS[number - 1] ?? '';
}
