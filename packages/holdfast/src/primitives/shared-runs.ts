/**
 * Runs that share one lease: the run that acquired it, and those that entered again.
 *
 *     opened (1 run) --entered--> (+1) --a run ends--> (-1) ... --the last one ends--> released
 *
 * Work that is not awaited may enter again after its run, so each run is a hold. No run waits for
 * another, because that could deadlock.
 *
 * A wait at a condition gives the lease away, so it is refused while a run is open that does not
 * wait for the code that asks. The runs around that code do wait for it.
 *
 * Invariant: a run that entered again resolves only if, as far as this process knows, the lock was
 * held until it ended.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Lease } from '../lease/lease.js';
import { quietly } from './acquirer.js';

/** A run, and the open run around it in the asynchronous context. */
interface Run {
  readonly lease: Lease;
  readonly outer: Run | undefined;
  open: boolean;
}

const context = new AsyncLocalStorage<Run>();

const runs = new WeakMap<Lease, number>();

function innermostOpen(run: Run | undefined): Run | undefined {
  let open = run;
  while (open !== undefined && !open.open) open = open.outer;
  return open;
}

/** Open runs of a lease that do not wait for the running code. */
export function runsBeside(lease: Lease): number {
  let waiting = 0;
  for (let run = context.getStore(); run !== undefined; run = run.outer) {
    if (run.open && run.lease === lease) waiting += 1;
  }
  return Math.max(0, (runs.get(lease) ?? 0) - Math.max(1, waiting));
}

export function open<T>(lease: Lease, work: () => T | Promise<T>): Promise<T> {
  return share(lease, work, false);
}

export function enter<T>(lease: Lease, work: () => T | Promise<T>): Promise<T> {
  return share(lease, work, true);
}

async function share<T>(lease: Lease, work: () => T | Promise<T>, inner: boolean): Promise<T> {
  runs.set(lease, (runs.get(lease) ?? 0) + 1);
  const run: Run = { lease, outer: innermostOpen(context.getStore()), open: true };
  let result: T;
  try {
    result = await context.run(run, work);
  } catch (error) {
    run.open = false;
    await end(lease, inner);
    throw error;
  }
  run.open = false;
  if (!(await end(lease, inner))) throw lease.loss;
  return result;
}

async function end(lease: Lease, inner: boolean): Promise<boolean> {
  const remaining = (runs.get(lease) ?? 1) - 1;
  runs.set(lease, remaining);
  // later work was not protected
  if (inner && lease.hold.state === 'released') return false;
  if (remaining === 0) return (await quietly(lease.release())) !== 'lost';
  await lease.verify();
  return lease.state !== 'lost';
}
