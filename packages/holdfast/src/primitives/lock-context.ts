/**
 * Which leases the running code runs under, told by the asynchronous context that it was started
 * in. Written by reentrant runs and by decorated methods; plain runs do without, for what it costs.
 *
 * A context goes on where work goes on that nobody waits for, also after the lease is over. So it
 * only says which lease it is; whether that is held, the lease says.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Core } from '../core.js';
import type { Lease } from '../lease/lease.js';

interface Surrounding {
  /** The same key in two stores is two locks. */
  readonly core: Core;
  readonly lease: Lease;
  /** Set by who may be entered again. */
  readonly reentrant: boolean;
}

/** What is looked for; what is left out may be anything. */
interface Sought {
  readonly core?: Core | undefined;
  readonly key?: string | undefined;
  readonly reentrant?: true;
}

/** From the outside inwards. */
const storage = new AsyncLocalStorage<readonly Surrounding[]>();

/** Does work under a lease, so that it and all that it starts can find the lease. */
export function under<T>(core: Core, lease: Lease, reentrant: boolean, work: () => T): T {
  // leases that are over would pile up where work starts work without end
  const outer = (storage.getStore() ?? []).filter((one) => one.lease !== lease && lives(one.lease));
  return storage.run([...outer, { core, lease, reentrant }], work);
}

/** True if a lease is held, or may be. */
function lives({ state }: Lease): boolean {
  return state === 'held' || state === 'doubted' || state === 'parked';
}

/** The innermost lease around the running code that is like what is sought. */
export function innermost({ core, key, reentrant }: Sought): Lease | undefined {
  const all = storage.getStore() ?? [];
  for (let at = all.length - 1; at >= 0; at--) {
    const one = all[at] as Surrounding;
    const here = core === undefined || one.core === core;
    const named = key === undefined || one.lease.key === key;
    if (here && named && (reentrant === undefined || one.reentrant)) return one.lease;
  }
  return undefined;
}
