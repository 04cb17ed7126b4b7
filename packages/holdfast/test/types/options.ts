/**
 * What options accept and refuse. This file is only compiled, against the built declarations, as a
 * user's program is: a `@ts-expect-error` without an error below it is itself an error.
 */
import {
  type AcquireOptions,
  type AwaitOptions,
  type BarrierOptions,
  type CampaignOptions,
  type ElectionOptions,
  type FlightOptions,
  Holdfast,
  type HoldfastOptions,
  isHoldfastError,
  type LatchOptions,
  type LeadOptions,
  type ListOptions,
  type LockedOptions,
  type LockOptions,
  memory,
  type MutexOptions,
  type ObserveOptions,
  type OwnerLockOptions,
  type RunOnceOptions,
  type ScheduleOptions,
  type SemaphoreOptions,
  type SemaphoreRunOptions,
  type SingleFlightOptions,
  type WaitOptions,
} from 'holdfast';

const holdfast = new Holdfast(memory(), { ttl: undefined, label: 'types', clock: undefined });
const { signal } = new AbortController();

/** The optional properties of `T` that do not accept `undefined`. */
type Strict<T> = {
  [K in keyof T]-?: Partial<Pick<T, K>> extends Pick<T, K>
    ? undefined extends Required<T>[K]
      ? never
      : K
    : never;
}[keyof T];

/** Compiles only if each optional property of `T` accepts `undefined`. */
function lenient<T>(..._proof: [Strict<T>] extends [never] ? [] : [strict: Strict<T>]): void {}

lenient<HoldfastOptions>();
lenient<LockOptions>();
lenient<AcquireOptions>();
lenient<MutexOptions>();
lenient<LockedOptions>();
lenient<SemaphoreOptions>();
lenient<SemaphoreRunOptions>();
lenient<AwaitOptions>();
lenient<WaitOptions>();
lenient<LatchOptions>();
lenient<BarrierOptions>();
lenient<ElectionOptions>();
lenient<CampaignOptions>();
lenient<LeadOptions>();
lenient<ObserveOptions>();
lenient<ListOptions>();
lenient<OwnerLockOptions>();
lenient<ScheduleOptions>();
lenient<RunOnceOptions>();
lenient<SingleFlightOptions>();
lenient<FlightOptions>();
lenient<NonNullable<Parameters<Holdfast['close']>[0]>>();
lenient<NonNullable<Parameters<Holdfast['forceRelease']>[1]>>();
// @ts-expect-error the check itself detects a strict property
lenient<{ readonly strict?: number }>();

export async function permits(): Promise<void> {
  const semaphore = holdfast.semaphore('k', { permits: 3, ttl: undefined });
  await semaphore.acquire();
  holdfast.semaphore('k', { permits: 3, onMismatch: 'adopt' });
  // @ts-expect-error `reject` or `adopt`
  holdfast.semaphore('k', { permits: 3, onMismatch: 'resize' });
  await semaphore.acquire(2, { wait: 5, signal });
  await semaphore.run((lease) => lease.fence, { permits: 2, wait: undefined });
  // @ts-expect-error the number of permits is required
  holdfast.semaphore('k');
  // @ts-expect-error the number of permits is required
  holdfast.semaphore('k', {});
  // @ts-expect-error a number
  holdfast.semaphore('k', { permits: '3' });
  // @ts-expect-error a number
  await semaphore.acquire('2');
  // @ts-expect-error the permits are the first argument
  await semaphore.acquire({ permits: 2 });
  // @ts-expect-error the option is called `permits`
  await semaphore.run(() => 1, { count: 2 });
  // @ts-expect-error a number
  await semaphore.run(() => 1, { permits: '2' });
  // @ts-expect-error the capacity is changed with `setPermits`
  semaphore.permits = 4;
}

export async function locks(): Promise<void> {
  const mutex = holdfast.mutex('k', { ttl: 1000, reentrant: true, onExpiring: undefined });
  // @ts-expect-error unknown option
  holdfast.mutex('k', { ttll: 1000 });
  // @ts-expect-error an option without a unit in its name
  holdfast.mutex('k', { expiringMs: 1000 });
  await mutex.acquire({ sharedBy: 'request 7', wait: 0 });
  // @ts-expect-error a name that shares the lease is called `sharedBy`
  holdfast.mutex('k', { owner: 'request 7' });
  // @ts-expect-error a name that shares the lease is called `sharedBy`
  await mutex.acquire({ owner: 'request 7' });
  // @ts-expect-error the same in what `inspect` shows
  void (await holdfast.inspect('k'))?.holders[0]?.owner;
  // @ts-expect-error a mutex has no permits
  await mutex.acquire({ permits: 1 });
  // @ts-expect-error a controller is not its signal
  await mutex.acquire({ signal: new AbortController() });
  // @ts-expect-error `null` does not mean "not given"
  await mutex.acquire({ wait: null });
  // @ts-expect-error reentrancy belongs to the mutex, not to one acquisition
  await mutex.acquire({ reentrant: true });
  // @ts-expect-error the work is required
  await mutex.run({ wait: 5 });
  // @ts-expect-error a read-write lock is not reentrant
  holdfast.rwLock('k', { reentrant: true });
  // @ts-expect-error a side is acquired, not the lock
  await holdfast.rwLock('k').acquire();
  // @ts-expect-error the keys are a list
  holdfast.allOf('k');
  // @ts-expect-error only mutexes are locked together
  holdfast.allOf([holdfast.semaphore('k', { permits: 1 })]);
}

export async function conditions(): Promise<void> {
  const lease = await holdfast.mutex('k').acquire();
  const condition = holdfast.mutex('k').condition('changed');
  await condition.await(lease, { wait: undefined });
  // @ts-expect-error a wait gives up a lease
  await condition.await();
  // @ts-expect-error only a mutex has conditions: readers cannot give up a shared lock
  holdfast.rwLock('k').read.condition('changed');
  // @ts-expect-error only a mutex has conditions
  holdfast.rwLock('k').write.condition('changed');
  // @ts-expect-error only a mutex has conditions
  holdfast.semaphore('k', { permits: 1 }).condition('changed');
  // @ts-expect-error only a mutex has conditions
  holdfast.allOf(['k']).condition('changed');
  // @ts-expect-error the lease of several keys cannot wait
  await condition.await(await holdfast.allOf(['k']).acquire());
}

export async function others(): Promise<void> {
  // @ts-expect-error a leader always renews
  holdfast.election('k', { renew: false });
  // @ts-expect-error a callback, in every place that has `onFailure`
  await holdfast.election('k').lead(() => 1, { onFailure: 'keep' });
  // @ts-expect-error an option of `lead`
  await holdfast.election('k').campaign({ pause: 5 });
  // @ts-expect-error the minimum time is required
  holdfast.schedule('k', {});
  // @ts-expect-error the option is called `retention`
  holdfast.schedule('k', { atLeast: 0, remember: 5 });
  // @ts-expect-error the option is called `afterFailure`
  holdfast.schedule('k', { atLeast: 0, onFailure: 'keep' });
  // @ts-expect-error `keep` or `release`
  holdfast.schedule('k', { atLeast: 0, afterFailure: 'retry' });
  // @ts-expect-error a flight always renews
  holdfast.singleFlight('k', { renew: false });
  // @ts-expect-error `fresh` is required
  await holdfast.singleFlight('k').run({ compute: () => 1 });
  // @ts-expect-error the count is required
  holdfast.latch('k', {});
  // @ts-expect-error the number of parties is required
  holdfast.barrier('k', {});
  // @ts-expect-error the owner is required
  await holdfast.ownerLocks.lock('k', 1000);
  // @ts-expect-error the ttl is an argument
  await holdfast.ownerLocks.lock('k', 'me', 1000, { ttl: 1000 });
  // @ts-expect-error it is called `ownerLocks`
  await holdfast.calls.unlock('k', 'me');
  // @ts-expect-error unknown option
  new Holdfast(memory(), { prefx: 'app:' });
  // @ts-expect-error only for simulations, and not in the declarations
  new Holdfast(memory(), { randomSource: undefined });
  // @ts-expect-error unknown code
  isHoldfastError(undefined, 'HOLDFAST_OOPS');
}
