/**
 * The entry `holdfast/migrate`: a mutex that programs with redlock, redis-semaphore or Redisson
 * respect, for a rollout in which old and new programs run together.
 */
import type { HoldfastCore } from './instance/holdfast-core.js';
import { BothLocks, type BothLocksOptions } from './instance/migrate/both-locks.js';
import type { OldLock } from './instance/migrate/old-lock.js';

export type { CallOptions } from './base/abort.js';
export type { RedisClient } from './store/clients/detect.js';
export type { IoredisLike } from './store/clients/ioredis.js';
export type { IoredisSettings } from './store/clients/ioredis-subscription.js';
export type { NodeRedisLike } from './store/clients/node-redis.js';
export type { NodeRedisSettings } from './store/clients/node-redis-subscription.js';
export type { Clock, Timer } from './base/clock.js';
export type { HoldfastError, HoldfastErrorCode } from './base/errors.js';
export type { CoreOptions, HoldfastCore, HoldfastStore } from './instance/holdfast-core.js';
export type { Lease, ReleaseOutcome } from './lease/lease.js';
export type { LeaseState } from './lease/lease-state.js';
export type {
  BothAcquireOptions,
  BothLocks,
  BothLocksOptions,
} from './instance/migrate/both-locks.js';
export { redisSemaphore, redisson, redlock } from './instance/migrate/formats.js';
export type { OldLock } from './instance/migrate/old-lock.js';
export type { AcquireOptions, HoldfastOptions, LockOptions } from './base/options.js';

/**
 * A mutex that holds two locks: the Holdfast lock of `key`, and another library's. Programs that
 * use only one of the two exclude it. No request is sent.
 */
export function besides(
  holdfast: HoldfastCore,
  key: string,
  old: OldLock,
  options: BothLocksOptions = {},
): BothLocks {
  return new BothLocks(holdfast, key, old, options);
}
