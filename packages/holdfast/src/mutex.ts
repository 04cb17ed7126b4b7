/** The entry `holdfast/mutex`: the mutex as a function, without the other locks. */
import { checkLockKey } from './base/checks.js';
import { badOption } from './base/errors.js';
import { HoldfastCore } from './instance/holdfast-core.js';
import { type MutexOptions, PlainMutex } from './primitives/plain-mutex.js';

export type { CallOptions } from './base/abort.js';
export type { HoldfastError, HoldfastErrorCode } from './base/errors.js';
export type { CoreOptions, HoldfastCore, HoldfastStore } from './instance/holdfast-core.js';
export type { Lease, ReleaseOutcome } from './lease/lease.js';
export type { LeaseState } from './lease/lease-state.js';
export type { AcquireOptions, HoldfastOptions, LockOptions } from './base/options.js';
export type { Clock, Timer } from './base/clock.js';
export type { MutexOptions, PlainMutex } from './primitives/plain-mutex.js';

/**
 * The mutex of a key, as `Holdfast.mutex` returns it, but without conditions.
 * @param key non-empty, at most 1,024 bytes
 */
export function createMutex(
  holdfast: HoldfastCore,
  key: string,
  options: MutexOptions = {},
): PlainMutex {
  if (!(holdfast instanceof HoldfastCore)) {
    throw badOption('holdfast', 'a HoldfastCore or a Holdfast', holdfast);
  }
  return new PlainMutex(holdfast.core, checkLockKey(key), options);
}
