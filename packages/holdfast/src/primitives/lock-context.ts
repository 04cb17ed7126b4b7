/**
 * The leases of the running code's asynchronous context. Reentrant runs and decorated methods write
 * it; other runs do not, because it costs time.
 *
 * Work that is not awaited keeps its context after the lease is over, so the lease itself says
 * whether it is held.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Core } from '../acquire/core.js';
import type { Lease } from '../lease/lease.js';

interface ContextEntry {
  readonly core: Core;
  readonly lease: Lease;
  readonly reentrant: boolean;
}

/** An omitted property matches every lease. */
interface LeaseQuery {
  readonly core?: Core | undefined;
  readonly key?: string | undefined;
  readonly reentrant?: true;
}

/** Outermost lease first. */
const storage = new AsyncLocalStorage<readonly ContextEntry[]>();

export function under<T>(core: Core, lease: Lease, reentrant: boolean, work: () => T): T {
  // otherwise ended leases would accumulate in endless chains of work
  const outer = (storage.getStore() ?? []).filter(
    (one) => one.lease !== lease && isAlive(one.lease),
  );
  return storage.run([...outer, { core, lease, reentrant }], work);
}

function isAlive({ state }: Lease): boolean {
  return state === 'held' || state === 'doubted' || state === 'parked';
}

export function innermost({ core, key, reentrant }: LeaseQuery): Lease | undefined {
  const all = storage.getStore() ?? [];
  for (let at = all.length - 1; at >= 0; at--) {
    const one = all[at] as ContextEntry;
    const here = core === undefined || one.core === core;
    const named = key === undefined || one.lease.key === key;
    if (here && named && (reentrant === undefined || one.reentrant)) return one.lease;
  }
  return undefined;
}
