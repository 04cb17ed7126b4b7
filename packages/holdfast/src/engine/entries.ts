/** The entries of a resource; only `Resource` writes them. */
import type { Acquire, Micros } from './commands.js';

export interface Hold {
  /** The requested permits; a lease has the weight of its heaviest hold. */
  weight: number;
  changes: number;
  /** The channel for the message that the lease was ended by force, or `''`. */
  channel: string;
  /** The end without a renewal. The lease lasts as long as one of its holds. */
  expires: Micros;
  /** Its last signal. */
  sent?: Holder['sent'];
}

export type Joining = Pick<Acquire, 'id' | 'weight' | 'channel'>;

export interface Holder {
  /** The lease with an owner has the id of its first hold. */
  readonly id: string;
  readonly owner: string;
  weight: number;
  /** As in `Hold`, without an owner. */
  changes: number;
  fence: number;
  channel: string;
  tasks: number;
  readonly meta: string;
  readonly since: Micros;
  /** In ms. */
  readonly ttl: number;
  /** One fence above `fence` is reserved for each (I2). */
  readonly handOffs: number;
  readonly holds: Map<string, Hold>;
  /** No hold of an owner ends later. */
  expires: Micros;
  /** Neither the lease nor a hold ends earlier. */
  due: Micros;
  /** The condition of its signal, or `''`; cleared when the holder ends the lease. */
  signalled: string;
  sent: { readonly seq: number; readonly woken: number; readonly left: number };
}

export const NOTHING_SENT: Holder['sent'] = { seq: 0, woken: 0, left: 0 };

/** 0 if that acquisition has no hold. */
export function endOf({ owner, expires, holds }: Holder, id: string): Micros {
  return owner === '' ? expires : (holds.get(id)?.expires ?? 0);
}

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
  tasks: number;
  readonly meta: string;
  readonly ticket: number;
  readonly signalled: string;
  channel: string;
  token: string;
}
