/**
 * Runs that share one lease: the run that acquired it, and those that entered again inside.
 *
 *     opened (1 run) --entered--> (+1) --a run ends--> (-1) ... --the last one ends--> released
 *
 * Work that a run starts and does not wait for may outlive it, with a run of its own inside. So
 * each run is a hold: the lock is released when the last one ends, whichever that is. No run waits
 * for another, because they may wait for each other.
 *
 * Invariant: a run that entered again resolves only if the lock was held until its end, as far as
 * this process knows.
 */
import type { Lease } from '../lease/lease.js';
import { quietly } from './acquirer.js';

/** Runs that have not ended, by the lease that they share. */
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

/** Ends a run; false if the lock was not held until then. */
async function end(lease: Lease, inner: boolean): Promise<boolean> {
  const left = (runs.get(lease) ?? 1) - 1;
  runs.set(lease, left);
  // released by hand: what the other runs did after that was not done alone
  if (inner && lease.state === 'released') return false;
  if (left === 0) return (await quietly(lease.release())) !== 'lost';
  await lease.verify();
  return lease.state !== 'lost';
}
