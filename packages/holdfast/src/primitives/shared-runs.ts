/**
 * Runs that share one lease: the run that acquired it, and the runs that entered again inside it.
 *
 *     opened (1 run) --entered--> (+1) --a run ends--> (-1) ... --the last one ends--> released
 *
 * Work that a run starts and does not await may continue after the run, and may enter again. So
 * each run is a hold: the lock is released when the last run ends. No run waits for another run,
 * because that could deadlock.
 *
 * Invariant: a run that entered again resolves only if, by the knowledge of this process, the lock
 * was held until the run ended.
 */
import type { Lease } from '../lease/lease.js';
import { quietly } from './acquirer.js';

/** The number of active runs of each shared lease. */
const runs = new WeakMap<Lease, number>();

/** Does the work of the run that acquired the lease. */
export function open<T>(lease: Lease, work: () => T | Promise<T>): Promise<T> {
  return share(lease, work, false);
}

/** Does the work of a run that entered again. */
export function enter<T>(lease: Lease, work: () => T | Promise<T>): Promise<T> {
  return share(lease, work, true);
}

async function share<T>(lease: Lease, work: () => T | Promise<T>, inner: boolean): Promise<T> {
  runs.set(lease, (runs.get(lease) ?? 0) + 1);
  let result: T;
  try {
    result = await work();
  } catch (error) {
    await end(lease, inner);
    throw error;
  }
  if (!(await end(lease, inner))) throw lease.loss;
  return result;
}

/** Ends a run; false if the lock was lost or released before. */
async function end(lease: Lease, inner: boolean): Promise<boolean> {
  const remaining = (runs.get(lease) ?? 1) - 1;
  runs.set(lease, remaining);
  // the user released the lease: work after that was not protected
  if (inner && lease.state === 'released') return false;
  if (remaining === 0) return (await quietly(lease.release())) !== 'lost';
  await lease.verify();
  return lease.state !== 'lost';
}
