import type { Core } from '../acquire/core.js';
import { MARK } from '../base/marker-key.js';

/** The state of one instance, and what it has done since its creation. */
export interface HoldfastStats {
  /** Leases that this process holds now. */
  readonly held: number;
  /** Calls that wait for a lock now. */
  readonly waiting: number;
  /** Leases that this process got, also by hand-offs. */
  readonly acquisitions: number;
  /** Leases that their holders released here. */
  readonly releases: number;
  readonly losses: number;
  /** Leases that a call of this process got after it had waited for another holder. */
  readonly handOffs: number;
  /** Renewals that extended a lease; each lease of a command counts. */
  readonly renewals: number;
  /** Renewals without a reply, or of a lease that had ended. They are repeated. */
  readonly failedRenewals: number;
  /** Requests that looked for a grant, because no message of it had come. */
  readonly pollings: number;
  /** All that were sent to the store. */
  readonly commands: number;
  /** Whether messages of the store arrive now. The connection opens with the first waiter. */
  readonly pushes: boolean;
}

/** The numbers of one key, in this process. */
export interface KeyStats {
  held: number;
  /** The permits of these leases. */
  permits: number;
  waiting: number;
}

export function statsOf(core: Core): HoldfastStats {
  const { telemetry, requests, wake } = core;
  const { acquisitions, releases, losses, handOffs } = telemetry;
  const { renewals, failedRenewals, pollings } = telemetry;
  let held = 0;
  let waiting = 0;
  for (const one of statsByKey(core).values()) {
    held += one.held;
    waiting += one.waiting;
  }
  const leases = { held, waiting, acquisitions, releases, losses, handOffs };
  const commands = requests.sent;
  const pushes = wake.channel !== '';
  return { ...leases, renewals, failedRenewals, pollings, commands, pushes };
}

export function statsByKey(core: Core): Map<string, KeyStats> {
  const found = new Map<string, KeyStats>();
  const of = (key: string): KeyStats => {
    let stats = found.get(key);
    if (stats === undefined) found.set(key, (stats = { held: 0, permits: 0, waiting: 0 }));
    return stats;
  };
  for (const { key, weight } of core.watchdog.all()) {
    const stats = of(key);
    stats.held += 1;
    stats.permits += weight;
  }
  for (const [key, count] of core.acquisitions.waiting()) of(key).waiting += count;
  for (const key of found.keys()) if (key.includes(MARK)) found.delete(key);
  return found;
}
