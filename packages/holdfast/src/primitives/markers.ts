/**
 * Markers: leases that nothing renews or releases, so that the store remembers a fact for some
 * time.
 */
import type { Core } from '../acquire/core.js';
import type { AcquireRequest } from '../acquire/call.js';
import type { Hold } from '../lease/root.js';
import type { LockOptions } from '../base/options.js';
import { Lease } from '../lease/lease.js';
import { Acquirer } from './acquirer.js';
import { KeptLease } from './kept-lease.js';

/** `null` if it is set already. The caller may release it. */
export function mark(
  core: Core,
  key: string,
  ttl: number,
  label: string | undefined,
): Promise<KeptLease | null> {
  // `fair`: the store grants each acquisition itself
  const options: LockOptions = { fair: true, ttl, renew: false, label };
  // also while the instance closes, for the end of a run
  const send = (request: AcquireRequest): Promise<Hold | null> =>
    core.acquisitions.acquire({ ...request, closing: true });
  const subject = { key, kind: 'mutex', capacity: 1, send } as const;
  return new Acquirer(core, subject, options, KeptLease).tryAcquire(1);
}

/** False if `wait` ms pass before the marker ends. */
export async function unmarked(core: Core, key: string, wait: number): Promise<boolean> {
  const options: LockOptions = { fair: true, ttl: 1000, renew: false };
  const acquirer = new Acquirer(core, { key, kind: 'mutex', capacity: 1 }, options, Lease);
  const lease = await acquirer.tryAcquire(1, { wait });
  await lease?.release();
  return lease !== null;
}
