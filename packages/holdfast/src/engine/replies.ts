/** What a store answers, and what it pushes. */
import type { GatePush, GateReply } from './gate-messages.js';
import type { Micros } from './commands.js';

/** What a live lease looks like from its store. */
export interface Granted {
  readonly status: 'granted';
  readonly now: Micros;
  readonly fence: number;
  /** Microseconds that the lease still runs, counted from `now`. */
  readonly left: Micros;
  /** Passes left, see `Acquire.passes`. */
  readonly handOffs: number;
  /** Holds of the owner, 1 without an owner. */
  readonly holds: number;
}

/** The acquisition waits. */
export interface Queued {
  readonly status: 'queued';
  readonly now: Micros;
  readonly ticket: number;
  /** Microseconds until the next lease of the resource may end, 0 if none is held. */
  readonly next: Micros;
}

/** The acquisition did not want to wait. */
export interface Refused {
  readonly status: 'refused';
  readonly now: Micros;
  readonly next: Micros;
}

/** The acquisition cannot be queued: the queue is at its limit. */
export interface Full {
  readonly status: 'full';
  readonly now: Micros;
  readonly length: number;
}

/** The resource is in use with another capacity. */
export interface Mismatch {
  readonly status: 'mismatch';
  readonly now: Micros;
  readonly capacity: number;
}

/** The acquisition waits for a signal. */
export interface AtCondition {
  readonly status: 'parked';
  readonly now: Micros;
}

/** The lease is not its holder's alone, and was not given up. */
export interface Shared {
  readonly status: 'shared';
  readonly now: Micros;
  /** Holds of its owner. */
  readonly holds: number;
}

/** Neither the lease nor the waiter is there. */
export interface Gone {
  readonly status: 'absent';
  readonly now: Micros;
}

/** Whether a signal brought the acquisition here, or its own wish. */
interface Brought {
  readonly signalled: boolean;
}

export type ParkReply =
  | AtCondition
  | (Queued & Brought)
  | (Granted & Brought)
  | Shared
  | Full
  | Gone;

export interface SignalReply {
  /** `absent`: whoever signals does not hold. */
  readonly status: 'signalled' | 'absent';
  readonly now: Micros;
  /** How many were woken. */
  readonly woken: number;
  /** How many were left at the condition then. */
  readonly left: number;
}

/**
 * The owner holds a lease of a smaller weight already. Joining that one would make it believe in
 * more than it has, and waiting for more would be waiting for itself.
 */
export interface Conflict {
  readonly status: 'conflict';
  readonly now: Micros;
  /** The weight that the owner holds. */
  readonly weight: number;
}

/** The owner's lease has as many holds as a lease may have. */
export interface Crowded {
  readonly status: 'crowded';
  readonly now: Micros;
  readonly holds: number;
}

export type AcquireReply = Granted | Queued | Refused | Full | Mismatch | Conflict | Crowded;

export interface ReleaseReply {
  /**
   * `freed`: the lease is over; `kept`: the hold is over, the owner has others; `passed`: the lease
   * is the successor's; `dequeued`: the id had waited or was parked; `absent`: the id had
   * nothing (any more).
   */
  readonly status: 'freed' | 'kept' | 'passed' | 'dequeued' | 'absent';
  readonly now: Micros;
  /** Holds that the owner has left. */
  readonly holds: number;
}

export interface RenewReply {
  readonly status: 'renewed' | 'absent';
  readonly now: Micros;
  readonly left: Micros;
}

/** How a polled id stands. */
export type Standing = Granted | { readonly status: 'queued' | 'parked' | 'absent' };

export interface PollReply {
  readonly status: 'polled';
  readonly now: Micros;
  readonly next: Micros;
  readonly standings: readonly Standing[];
}

export interface HolderView {
  readonly id: string;
  readonly owner: string;
  readonly weight: number;
  readonly fence: number;
  readonly left: Micros;
  readonly holds: number;
  /** When the lease was granted. */
  readonly since: Micros;
  readonly meta: string;
  /** The owner's acquisitions that hold, the first of them; empty without an owner. */
  readonly ids: readonly string[];
}

export interface WaiterView {
  readonly id: string;
  readonly owner: string;
  readonly weight: number;
  readonly ticket: number;
  readonly fair: boolean;
  readonly meta: string;
}

export interface ParkedView {
  readonly id: string;
  readonly owner: string;
  readonly condition: string;
  /** When it was parked. */
  readonly since: Micros;
  readonly meta: string;
}

export interface InspectReply {
  readonly status: 'inspected';
  readonly now: Micros;
  /** 0 if the resource is unknown. */
  readonly capacity: number;
  readonly used: number;
  /** The last fence given out or reserved, 0 if none is remembered. */
  readonly fence: number;
  readonly holderCount: number;
  readonly waiterCount: number;
  readonly parkedCount: number;
  readonly holders: readonly HolderView[];
  readonly waiters: readonly WaiterView[];
  readonly parked: readonly ParkedView[];
}

export interface ForceReleaseReply {
  readonly status: 'forced';
  readonly now: Micros;
  /** Leases that were ended. */
  readonly ended: number;
}

export interface ResizeReply {
  /**
   * `resized`: the lease has that weight, from before or from now on; `refused`: it does not fit,
   * or the lease is not the one that the caller knows, or has other holds; `absent`: there is no
   * such lease.
   */
  readonly status: 'resized' | 'refused' | 'absent';
  readonly now: Micros;
  /** The lease's fence, 0 if there is none. */
  readonly fence: number;
  readonly left: Micros;
}

export interface CapacityReply {
  /** `mismatch`: another capacity was agreed; `absent`: nobody uses the resource. */
  readonly status: 'changed' | 'mismatch' | 'absent';
  readonly now: Micros;
  /** The capacity that is agreed now, 0 if none is. */
  readonly capacity: number;
}

/** Which reply belongs to which command. */
export interface Replies {
  acquire: AcquireReply;
  release: ReleaseReply;
  renew: RenewReply;
  poll: PollReply;
  inspect: InspectReply;
  forceRelease: ForceReleaseReply;
  park: ParkReply;
  signal: SignalReply;
  resize: ResizeReply;
  capacity: CapacityReply;
  arrive: GateReply;
  watch: GateReply;
  endGeneration: GateReply;
}
export type Reply = Replies[keyof Replies];

/** What a store pushes to a channel. */
export type Push =
  | GatePush
  | {
      /** The waiter `id` holds a lease since `now`. */
      readonly kind: 'grant';
      readonly id: string;
      readonly fence: number;
      readonly now: Micros;
      readonly left: Micros;
      readonly handOffs: number;
      readonly holds: number;
      /** See `Acquire.token`. */
      readonly token: string;
    }
  | {
      /** `revoke`: the lease of `id` was ended by force. `signal`: it was parked, and now waits. */
      readonly kind: 'revoke' | 'signal';
      readonly id: string;
    };
