/** The mutex in every mode: with every way to end a wait, with owners, and reentrant. */
import { between, pick, type Random } from 'holdfast-trials/support/random';
import type { Lease } from 'holdfast';
import { MUTEXES, OWNED, OWNERS, REENTRANT } from '../../settings.js';
import { Attempt, leaseView } from '../attempt.js';
import { codeOf, type Workload } from '../workload.js';

export async function mutex(workload: Workload, random: Random): Promise<void> {
  const k = pick(random, Object.keys(MUTEXES));
  const lockOptions = workload.drawLockOptions(random, MUTEXES[k]);
  const one = workload.holdfast.mutex(k, lockOptions);
  const { fair } = lockOptions;
  const tries = random() < 0.1;
  const limits = tries ? { wait: 0 } : workload.limits(random);
  const { wait } = limits;
  const attempt = new Attempt(workload, { k, fair, ...(wait === undefined ? {} : { wait }) });
  const options = { ...limits, label: attempt.a };
  const acquiring = tries ? one.tryAcquire() : one.acquire(options);
  if (await attempt.granted(acquiring.then(leaseView))) await attempt.section(random);
  if (attempt.lease === undefined) return;
  const outcome = await attempt.release();
  if (outcome !== 'lost' || workload.given.fault !== 'release-without-compare') return;
  // the planted fault: a release that does not compare the id
  await workload.access.remove(k).catch(() => undefined);
}

/** Several holds of one owner's lease, here and in other processes, released in any order. */
export async function owned(workload: Workload, random: Random): Promise<void> {
  const owner = pick(random, OWNERS);
  const lockOptions = workload.drawLockOptions(random);
  const one = workload.holdfast.mutex(OWNED, { ...lockOptions, sharedBy: owner });
  const holds = 1 + Math.floor(between(random, 0, 5));
  const hold = async (): Promise<void> => {
    const limits = workload.limits(random);
    const { wait } = limits;
    const more = wait === undefined ? {} : { wait };
    const attempt = new Attempt(workload, { k: OWNED, fair: lockOptions.fair, owner, ...more });
    if (await attempt.granted(one.acquire(limits).then(leaseView))) await attempt.section(random);
    if (attempt.lease !== undefined) await attempt.release();
  };
  await Promise.all(Array.from({ length: holds }, hold));
}

/** A `run` inside a `run`: the inner one uses the outer lease and never waits for it. */
export async function reentrant(workload: Workload, random: Random): Promise<void> {
  const lockOptions = workload.drawLockOptions(random);
  const one = workload.holdfast.mutex(REENTRANT, { ...lockOptions, reentrant: true });
  const attempt = new Attempt(workload, { k: REENTRANT, fair: lockOptions.fair });
  try {
    await one.run(async (lease: Lease) => {
      if (attempt.noteGrant(leaseView(lease) as NonNullable<ReturnType<typeof leaseView>>)) {
        await attempt.section(random);
        await one.run(async (inner) => {
          // another lease would have another fence, which the outer attempt must not write with
          if (inner.fence !== lease.fence && lease.held)
            throw new Error('the inner run has another lease');
          await attempt.section(random);
        });
      }
      attempt.noteRelease();
    });
    attempt.noteOutcome('freed');
  } catch (error) {
    if (attempt.lease === undefined) attempt.noteFailure(codeOf(error));
    else {
      attempt.noteRelease();
      attempt.noteOutcome(codeOf(error));
    }
  }
}
