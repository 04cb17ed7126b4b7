/** Conditions, latches and barriers. */
import { isHoldfastError } from 'holdfast';
import { monotonic } from 'holdfast-trials/support/overlaps';
import { between, type Random } from 'holdfast-trials/support/random';
import { BARRIER, CONDITION, LATCH, PARTIES, STOCK } from '../../settings.js';
import { Attempt, leaseView } from '../attempt.js';
import { codeOf, type Workload } from '../workload.js';

/** A condition: some tasks wait at it, others signal it. */
export async function condition(workload: Workload, random: Random): Promise<void> {
  const waits = random() < 0.5;
  // a wait may last longer than a lease without renewal, which then gets a new id
  const lockOptions = workload.drawLockOptions(random);
  const one = workload.holdfast.mutex(STOCK, lockOptions);
  const attempt = new Attempt(workload, { k: STOCK, fair: lockOptions.fair });
  let lease: Awaited<ReturnType<typeof one.acquire>> | undefined;
  const acquiring = one.acquire().then((granted) => {
    lease = granted;
    return leaseView(granted);
  });
  if (!(await attempt.granted(acquiring)) || lease === undefined) {
    if (attempt.lease !== undefined) await attempt.release();
    return;
  }
  await attempt.section(random);
  const target = one.condition(CONDITION);
  if (!waits) {
    await signal(workload, random, attempt, target, lease);
    await attempt.release();
    return;
  }
  const back = await park(workload, random, attempt, target, lease);
  if (back !== undefined && back.isHeld()) await back.section(random);
  await (back?.release() ?? lease.release().catch(codeOf));
}

type Condition = ReturnType<ReturnType<Workload['holdfast']['mutex']>['condition']>;
type Lease = Parameters<Condition['await']>[0];

async function signal(
  workload: Workload,
  random: Random,
  attempt: Attempt,
  target: Condition,
  lease: Lease,
): Promise<void> {
  const about = { k: STOCK, a: attempt.a, c: CONDITION };
  if (!attempt.isHeld()) return;
  workload.note({ e: 'signal', ...about });
  let count: number | null = null;
  try {
    count = await (random() < 0.2 ? target.signalAll(lease) : target.signal(lease));
  } catch {
    // whether it woke a waiter is unknown
  }
  workload.note({ e: 'signalled', ...about, count });
}

/** Waits at the condition. Returns the attempt of the new lease; `undefined` if there is none. */
async function park(
  workload: Workload,
  random: Random,
  attempt: Attempt,
  target: Condition,
  lease: Lease,
): Promise<Attempt | undefined> {
  const about = { k: STOCK, a: attempt.a, c: CONDITION };
  const { id } = lease;
  attempt.noteRelease();
  workload.note({ e: 'park', ...about });
  const limit = random() < 0.3 ? {} : { wait: between(random, 20, 1500) };
  let signalled: boolean | null = null;
  try {
    signalled = await target.await(lease, { ...limit, signal: workload.finish.signal });
  } catch (error) {
    // aborted at the end of the run: the process has the lock again, without a signal
    if (isHoldfastError(error, 'HOLDFAST_ABORTED')) signalled = false;
  }
  attempt.noteOutcome(signalled === null ? 'HOLDFAST_UNCERTAIN' : 'freed');
  workload.note({ e: 'woken', ...about, signalled });
  if (lease.id === id) return undefined;
  const back = new Attempt(workload, { k: STOCK, fair: false, back: true });
  back.noteGrant(leaseView(lease) as NonNullable<ReturnType<typeof leaseView>>);
  return back;
}

/** A new latch every few seconds: some tasks count it down, others wait for it. */
const ROUND_MS = 3000;
const LATCH_MS = 60_000;

export async function latch(workload: Workload, random: Random): Promise<void> {
  const k = `${LATCH} ${Math.floor(monotonic() / ROUND_MS)}`;
  const size = 4;
  const one = workload.holdfast.latch(k, { count: size, ttl: LATCH_MS });
  const g = workload.name();
  try {
    if (random() < 0.5) {
      const by = random() < 0.2 ? 2 : 1;
      workload.note({ e: 'count', k, g, size, by });
      const remaining = await one.countDown(by);
      workload.note({ e: 'counted', k, g, left: remaining });
    } else {
      const wait = between(random, 1, ROUND_MS);
      workload.note({ e: 'await', k, g, gate: 'latch', size, wait });
      await one.await({ wait, signal: workload.finish.signal });
      workload.note({ e: 'passed', k, g });
    }
  } catch (error) {
    workload.note({ e: 'stopped', k, g, code: codeOf(error) });
  }
}

export async function barrier(workload: Workload, random: Random): Promise<void> {
  const one = workload.holdfast.barrier(BARRIER, { parties: PARTIES, ttl: 2000 });
  const g = workload.name();
  const wait = between(random, 200, 5000);
  workload.note({ e: 'await', k: BARRIER, g, gate: 'barrier', size: PARTIES, wait });
  try {
    const { generation, index } = await one.await({ wait, signal: workload.finish.signal });
    workload.note({ e: 'passed', k: BARRIER, g, generation, index });
  } catch (error) {
    workload.note({ e: 'stopped', k: BARRIER, g, code: codeOf(error) });
  }
}
