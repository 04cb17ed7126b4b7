/**
 * Markers: leases that nothing renews or releases, so that the store remembers a fact for some
 * time. `list` leaves them out.
 */
import type { Core } from '../core.js';
import type { LockOptions } from '../options.js';
import { Acquirer } from './acquirer.js';
import { KeptLease } from './kept-lease.js';

/** Sets a marker for `ttl` ms; `null` if it is set already. The caller may still release it. */
export function mark(
  core: Core,
  key: string,
  ttl: number,
  label: string | undefined,
): Promise<KeptLease | null> {
  // `fair`: the store grants each acquisition itself
  const options: LockOptions = { fair: true, ttl, renew: false, label };
  const make = (...args: ConstructorParameters<typeof KeptLease>): KeptLease =>
    new KeptLease(...args);
  return new Acquirer(core, { key, capacity: 1 }, options, make).tryAcquire(1);
}
