/** The entries of a resource. Only the methods of `Resource` write them. */
import type { Acquire, Micros } from './commands.js';

export interface Hold {
  /** The permits that it requested. A lease has the weight of its heaviest hold. */
  weight: number;
  /** The number of its last change of the weight. */
  changes: number;
  /** The channel for the message that the lease was ended by force, or `''`. */
  channel: string;
  /** Unless renewed. The lease lasts as long as one of its holds. */
  expires: Micros;
}

export type Joining = Pick<Acquire, 'id' | 'weight' | 'channel'>;

export interface Holder {
  /** With an owner: the first of its holds. */
  readonly id: string;
  readonly owner: string;
  weight: number;
  /** As in `Hold`, for a lease without an owner. */
  changes: number;
  fence: number;
  channel: string;
  /** See `Acquire.tasks`. */
  tasks: number;
  readonly meta: string;
  readonly since: Micros;
  /** In ms. */
  readonly ttl: number;
  /**
   * How many times the process may hand the lease off before the store must decide. One fence above
   * `fence` is reserved for each.
   */
  readonly handOffs: number;
  /** The owner's holds in order; empty without an owner. */
  readonly holds: Map<string, Hold>;
  /** With an owner: no hold ends after this time. */
  expires: Micros;
  /** Neither the lease nor one of its holds ends before this time. */
  due: Micros;
  /** The condition of its signal, or `''`. Cleared when the holder itself ends the lease. */
  signalled: string;
  sent: { readonly seq: number; readonly woken: number; readonly left: number };
}

export const NOTHING_SENT: Holder['sent'] = { seq: 0, woken: 0, left: 0 };

/** The end for one of its acquisitions, 0 if that has no hold. */
export function endOf({ owner, expires, holds }: Holder, id: string): Micros {
  return owner === '' ? expires : (holds.get(id)?.expires ?? 0);
}

/** True if the lease, or one of its holds, has not expired. */
export function lives({ owner, expires, holds }: Holder, now: Micros): boolean {
  if (owner === '') return expires > now;
  return [...holds.values()].some((hold) => hold.expires > now);
}

export interface Waiter {
  readonly id: string;
  readonly owner: string;
  readonly weight: number;
  readonly ttl: number;
  readonly claim: number;
  readonly fair: boolean;
  readonly handOffs: number;
  /** See `Acquire.tasks`. */
  tasks: number;
  readonly meta: string;
  readonly ticket: number;
  /** The condition of its signal, or `''`. */
  readonly signalled: string;
  channel: string;
  token: string;
}
