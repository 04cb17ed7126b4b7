/** Locks with several holders (readers, permits), and `allOf` over several keys. */
import { between, pick, type Random } from 'holdfast-trials/support/random';
import { isHoldfastError, type MultiLease, type RwLease } from 'holdfast';
import { setTimeout as sleep } from 'node:timers/promises';
import { ALL_OF, PERMITS, RW, SEMAPHORE, WRITER } from '../../settings.js';
import { Attempt, type LeaseLike, leaseView } from '../attempt.js';
import { codeOf, type Workload } from '../workload.js';

/** Readers and writers, some of which upgrade or downgrade. */
export async function rwLock(workload: Workload, random: Random): Promise<void> {
  const writes = random() < 0.35;
  const lockOptions = workload.drawLockOptions(random);
  const lock = workload.holdfast.rwLock(RW, lockOptions);
  const limits = workload.limits(random);
  const { wait } = limits;
  const weight = writes ? WRITER : 1;
  const more = wait === undefined ? {} : { wait };
  const attempt = new Attempt(workload, {
    k: RW,
    fair: lockOptions.fair,
    weight,
    capacity: WRITER,
    ...more,
  });
  let lease: RwLease | undefined;
  const acquiring = (writes ? lock.write : lock.read)
    .acquire({ ...limits, label: attempt.a })
    .then((granted) => {
      lease = granted;
      return leaseView(granted);
    });
  if (await attempt.granted(acquiring)) {
    await attempt.section(random);
    if (lease !== undefined && random() < 0.4) await changeSides(attempt, lease, random);
  }
  if (attempt.lease !== undefined) await attempt.release();
}

async function changeSides(attempt: Attempt, lease: RwLease, random: Random): Promise<void> {
  try {
    if (lease.mode === 'read') {
      if (!(await lease.tryUpgrade())) return;
      attempt.noteWeight(WRITER);
    } else {
      attempt.noteWeight(1);
      await lease.downgrade();
    }
    await attempt.section(random);
    if (lease.mode === 'write' && random() < 0.5) await changeSides(attempt, lease, random);
  } catch {
    // lost, or without a reply: `release` notes whether the lease is still held
  }
}

/** A semaphore with a changing capacity. */
export async function semaphore(workload: Workload, random: Random): Promise<void> {
  if (random() < 0.05) await resize(workload, random, workload.permits);
  const capacity = workload.permits;
  const lockOptions = workload.drawLockOptions(random);
  const one = workload.holdfast.semaphore(SEMAPHORE, { ...lockOptions, permits: capacity });
  const weight = 1 + Math.floor(between(random, 0, capacity));
  const limits = workload.limits(random);
  const { wait } = limits;
  const more = wait === undefined ? {} : { wait };
  const attempt = new Attempt(workload, {
    k: SEMAPHORE,
    fair: lockOptions.fair,
    weight,
    capacity,
    ...more,
  });
  const acquiring = one.acquire(weight, { ...limits, label: attempt.a }).catch((error: unknown) => {
    // another process has changed the capacity
    if (isHoldfastError(error, 'HOLDFAST_MISMATCH')) workload.permits = pick(random, PERMITS);
    throw error;
  });
  if (await attempt.granted(acquiring.then(leaseView))) await attempt.section(random);
  if (attempt.lease !== undefined) await attempt.release();
}

/** A late duplicate of an unanswered request has no effect after this. */
const LATE_MS = 15_000;

async function resize(workload: Workload, random: Random, from: number): Promise<void> {
  const capacity = pick(random, PERMITS);
  const one = workload.holdfast.semaphore(SEMAPHORE, { permits: from });
  const resized = (accepted: boolean): void =>
    workload.note({ e: 'resized', k: SEMAPHORE, capacity, accepted });
  workload.note({ e: 'resize', k: SEMAPHORE, capacity });
  try {
    await one.setPermits(capacity);
    resized(true);
    workload.permits = capacity;
  } catch (error) {
    if (isHoldfastError(error, 'HOLDFAST_MISMATCH')) resized(false);
    else void sleep(LATE_MS, undefined, { ref: false }).then(() => resized(false));
  }
}

/** Several keys at once: one recorded attempt for each key, and one lease for all. */
export async function allOf(workload: Workload, random: Random): Promise<void> {
  const keys = ALL_OF.filter(() => random() < 0.6);
  if (keys.length === 0) return;
  const lockOptions = workload.drawLockOptions(random);
  const limits = workload.limits(random);
  const all = keys.map((k) => new Attempt(workload, { k, fair: lockOptions.fair }));
  let lease: MultiLease;
  try {
    lease = await workload.holdfast.allOf(keys, lockOptions).acquire(limits);
  } catch (error) {
    for (const attempt of all) attempt.noteFailure(codeOf(error));
    return;
  }
  const released = (): Promise<string> => lease.release().catch(codeOf);
  const isHeld = all.map((attempt) => attempt.noteGrant(partOf(lease, attempt.k, attempt.a)));
  if (isHeld.every(Boolean)) await Promise.all(all.map((attempt) => attempt.section(random)));
  for (const attempt of all) attempt.noteRelease();
  await released();
  for (const attempt of all) attempt.noteOutcome(lease.outcomes.get(attempt.k) ?? 'uncertain');
}

function partOf(lease: MultiLease, key: string, id: string): LeaseLike {
  return {
    id,
    fence: lease.fences.get(key) as number,
    get held() {
      return lease.held;
    },
    release: () => Promise.resolve('freed'),
  };
}
