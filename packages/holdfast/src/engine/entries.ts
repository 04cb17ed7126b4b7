/** The entries of a resource. Only the methods of `Resource` write them. */
import type { Acquire, Micros } from './commands.js';

/** One acquisition of an owner that holds the lease. */
export interface Hold {
  /** The permits that it requested. A lease has the weight of its heaviest hold. */
  weight: number;
  /** The number of the last change of the weight that the store has seen. */
  changes: number;
  /** The channel for a message that the lease was ended by force, or `''`. */
  readonly channel: string;
}

/** An acquisition that joins a lease. */
export type Joining = Pick<Acquire, 'id' | 'weight' | 'channel'>;

/** A live lease. */
export interface Holder {
  /** The acquisition that was granted. With an owner: the first of its holds. */
  readonly id: string;
  readonly owner: string;
  weight: number;
  /** As in `Hold`, for a lease without an owner. */
  changes: number;
  fence: number;
  readonly channel: string;
  /** See `Acquire.tasks`, as the last command before the grant reported it. */
  readonly tasks: number;
  readonly meta: string;
  readonly since: Micros;
  /** The requested length of the lease in ms. */
  readonly ttl: number;
  /**
   * How many times the process may hand the lease off before the store must decide. One fence above
   * `fence` is reserved for each of them.
   */
  readonly handOffs: number;
  /** The owner's holds, in the order in which they joined; empty without an owner. */
  readonly holds: Map<string, Hold>;
  expires: Micros;
  /** The condition of its signal, or `''`. Cleared when the holder itself ends the lease. */
  signalled: string;
  /** The holder's last signal and its reply. */
  sent: { readonly seq: number; readonly woken: number; readonly left: number };
}

/** The value of `sent` before the holder has signalled. */
export const NOTHING_SENT: Holder['sent'] = { seq: 0, woken: 0, left: 0 };

/** A queued acquisition. */
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
  /** See `Acquire.token`. */
  token: string;
}
