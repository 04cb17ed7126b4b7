/**
 * The locks that trials support, with one interface. The weight of an acquisition determines how
 * many others may hold at the same time.
 */
import type { AcquireOptions, Holdfast, Lease, LockOptions } from 'holdfast';
import { between, type Random } from './random.js';

export const PRIMITIVES = ['mutex', 'rw', 'semaphore'] as const;
export type Primitive = (typeof PRIMITIVES)[number];

/** The methods of a lock that the trials use. */
export interface Lock {
  acquire(options?: AcquireOptions): Promise<Lease>;
  tryAcquire(options?: AcquireOptions): Promise<Lease | null>;
  run<T>(work: (lease: Lease) => Promise<T>, options?: AcquireOptions): Promise<T>;
}

/** The weight of an acquisition, and the capacity of the lock. */
export interface Share {
  readonly weight: number;
  readonly capacity: number;
}

export const PERMITS = 5;
const READERS = 1000;

/** The full capacity: an exclusive acquisition. */
export function whole(primitive: Primitive): Share {
  if (primitive === 'mutex') return { weight: 1, capacity: 1 };
  const capacity = primitive === 'rw' ? READERS : PERMITS;
  return { weight: capacity, capacity };
}

/** A random weight. */
export function some(primitive: Primitive, random: Random): Share {
  const { capacity } = whole(primitive);
  if (primitive === 'semaphore') {
    return { weight: 1 + Math.floor(between(random, 0, PERMITS)), capacity };
  }
  return { weight: primitive === 'rw' && random() < 0.7 ? 1 : capacity, capacity };
}

/** The lock of a key; exclusive by default. */
export function lockOf(
  primitive: Primitive,
  holdfast: Holdfast,
  key: string,
  options: LockOptions = {},
  { weight, capacity }: Share = whole(primitive),
): Lock {
  if (primitive === 'mutex') return holdfast.mutex(key, options);
  if (primitive === 'rw') {
    const lock = holdfast.rwLock(key, options);
    return weight === capacity ? lock.write : lock.read;
  }
  const semaphore = holdfast.semaphore(key, { ...options, permits: capacity });
  return {
    acquire: (more) => semaphore.acquire(weight, more),
    tryAcquire: (more) => semaphore.tryAcquire(weight, more),
    run: (work, more) => semaphore.run(work, { ...more, permits: weight }),
  };
}
