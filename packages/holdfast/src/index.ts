/**
 * Holdfast: distributed locks and their family on Redis and Valkey, or in memory.
 *
 * Create one {@link Holdfast} for each process, with the client that the process already has:
 *
 * ```ts
 * import { Holdfast } from 'holdfast';
 * import { Redis } from 'ioredis'; // or node-redis: await createClient().connect()
 *
 * const holdfast = new Holdfast(new Redis());
 *
 * await holdfast.mutex('invoice:42').run(async (lease) => {
 *   await store.write(invoice, { fence: lease.fence, signal: lease.signal });
 * });
 * ```
 *
 * A granted lock is a {@link Lease}: it has an end by the clock of the server, is renewed while it
 * is held, reports its loss with `signal`, and has a `fence` that grows from lease to lease. All
 * durations are in milliseconds. An option of `undefined` counts as not given. Errors are
 * {@link HoldfastError}s.
 *
 * @packageDocumentation
 */
export type {
  AcquireMessage,
  ForcedMessage,
  HandOffMessage,
  HoldfastMessage,
  InstanceInfo,
  LostMessage,
  ReleaseMessage,
  RenewMessage,
  RunMessage,
  WarningMessage,
} from './observe/messages.js';
export type { HoldfastWarning, HoldfastWarningCode } from './base/warning.js';
export type { HoldfastStats, KeyStats } from './instance/stats.js';
export type { CallOptions } from './base/abort.js';
export type { RedisClient } from './store/clients/detect.js';
export type { GlideLike } from './store/clients/glide.js';
export type { IoredisLike } from './store/clients/ioredis.js';
export type { IoredisSettings } from './store/clients/ioredis-subscription.js';
export type { NodeRedisLike } from './store/clients/node-redis.js';
export type { NodeRedisSettings } from './store/clients/node-redis-subscription.js';
export type { Clock, Timer } from './base/clock.js';
export type { DoctorReport } from './instance/doctor.js';
export type { ServerInfo } from './store/server-info.js';
export type { ExaminedServer, Finding, FindingCode, FindingSeverity } from './store/finding.js';
export { HoldfastError, type HoldfastErrorCode, isHoldfastError } from './base/errors.js';
export type { Health } from './instance/health.js';
export { type ForceReleaseOptions, Holdfast, type Readiness } from './instance/holdfast.js';
export type { ForcedRelease } from './primitives/force-release.js';
export type { CoreOptions, HoldfastCore, HoldfastStore } from './instance/holdfast-core.js';
export type {
  HolderInfo,
  ListOptions,
  LockInfo,
  ParkedInfo,
  Participant,
  WaiterInfo,
} from './primitives/inspection.js';
export type { LeaseLike, LockLike } from './lease/like.js';
export { lockKey } from './base/lock-key.js';
export { type EmbeddedStore, memory } from './instance/memory.js';
export { quorum, type QuorumOptions } from './instance/quorum.js';
export type { Lease, ReleaseOutcome } from './lease/lease.js';
export type { LeaseState } from './lease/lease-state.js';
export type { AcquireOptions, HoldfastOptions, LockOptions, LostLease } from './base/options.js';
export type { AllOf } from './primitives/all-of.js';
export type { Barrier, BarrierOptions, BarrierResult } from './primitives/barrier.js';
export type { AwaitOptions, Condition } from './primitives/condition.js';
export type {
  CampaignOptions,
  Election,
  ElectionOptions,
  LeadOptions,
  Leader,
  ObserveOptions,
} from './primitives/election.js';
export type { WaitOptions } from './primitives/gate-options.js';
export type { Latch, LatchOptions } from './primitives/latch.js';
export type { Leadership } from './primitives/leadership.js';
export type { Mutex } from './primitives/mutex.js';
export type { MutexOptions, PlainMutex } from './primitives/plain-mutex.js';
export type { KeyOutcome, MultiLease } from './primitives/multi-lease.js';
export type { OwnerLocks, OwnerLockOptions } from './primitives/owner-locks.js';
export type { Schedule } from './primitives/schedule.js';
export type {
  RunOnceOptions,
  RunOnceResult,
  ScheduleOptions,
  SkipReason,
} from './primitives/schedule-options.js';
export type { ScheduledRun } from './primitives/scheduled-runs.js';
export type { SlotState } from './primitives/schedule-slots.js';
export { assertLocked, currentLease, locked } from './primitives/locked.js';
export type {
  AsyncMethod,
  KeyMatchesMethod,
  LockedDecorator,
  LockedKey,
  LockedOptions,
} from './primitives/locked.js';
export type { RwLease, RwMode } from './primitives/rw-lease.js';
export type { RwLock, RwSide } from './primitives/rw-lock.js';
export type { SemaphoreLease } from './primitives/semaphore-lease.js';
export type { Semaphore, SemaphoreOptions, SemaphoreRunOptions } from './primitives/semaphore.js';
export type {
  FlightOptions,
  FlightResult,
  FlightWork,
  SingleFlight,
  SingleFlightOptions,
} from './primitives/single-flight.js';
