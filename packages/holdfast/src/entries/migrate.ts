/**
 * The entry `holdfast/migrate`: a mutex that programs with redlock, redis-semaphore or Redisson
 * respect, for a rollout in which old and new programs run at the same time.
 */
import type { HoldfastCore } from '../holdfast-core.js';
import { BothLocks, type BothLocksOptions } from '../migrate/both-locks.js';
import type { OldLock } from '../migrate/old-lock.js';

export type { CallOptions } from '../abort.js';
export type { RedisClient } from '../clients/detect.js';
export type { IoredisLike } from '../clients/ioredis.js';
export type { IoredisSettings } from '../clients/ioredis-subscription.js';
export type { NodeRedisLike } from '../clients/node-redis.js';
export type { NodeRedisSettings } from '../clients/node-redis-subscription.js';
export type { Clock, Timer } from '../clock.js';
export type { HoldfastError, HoldfastErrorCode } from '../errors.js';
export type { CoreOptions, HoldfastCore, HoldfastStore } from '../holdfast-core.js';
export type { Lease, ReleaseOutcome } from '../lease/lease.js';
export type { LeaseState } from '../lease/lease-state.js';
export type { BothAcquireOptions, BothLocks, BothLocksOptions } from '../migrate/both-locks.js';
export { redisSemaphore, redisson, redlock } from '../migrate/formats.js';
export type { OldLock } from '../migrate/old-lock.js';
export type { AcquireOptions, HoldfastOptions, LockOptions } from '../options.js';

/**
 * Returns a mutex that holds two locks: the Holdfast lock of `key`, and the lock of another
 * library. Programs that use only the other library, and programs that use only Holdfast, both
 * exclude it. No request is sent.
 * @param holdfast a `Holdfast` or a `HoldfastCore`
 * @param key the key of the Holdfast lock
 * @param old the lock of the other library
 */
export function besides(
  holdfast: HoldfastCore,
  key: string,
  old: OldLock,
  options: BothLocksOptions = {},
): BothLocks {
  return new BothLocks(holdfast, key, old, options);
}
