/**
 * Structural types for code that is tested with doubles: a class with private fields accepts no
 * other object.
 */
import type { Lease } from './lease.js';
import type { AcquireOptions } from '../base/options.js';

/** The public properties of a {@link Lease}. */
export type LeaseLike = Pick<
  Lease,
  | ('key' | 'id' | 'fence' | 'holds' | 'signal' | 'held' | 'state' | 'remaining')
  | ('verify' | 'assertHeld' | 'ensure' | 'extend' | 'stopRenewal' | 'release')
>;

/** A mutex, or one side of a read-write lock, or a double of one. */
export interface LockLike {
  readonly key: string;
  /** See `Mutex.acquire`. */
  acquire(options?: AcquireOptions): Promise<LeaseLike>;
  /** See `Mutex.tryAcquire`. */
  tryAcquire(options?: AcquireOptions): Promise<LeaseLike | null>;
  /** See `Mutex.run`. */
  run<T>(work: (lease: LeaseLike) => T | Promise<T>, options?: AcquireOptions): Promise<T>;
}
