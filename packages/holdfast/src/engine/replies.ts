/** The replies and the pushes of a store. */
import type { GatePush, GateReply } from './gate-messages.js';
import type { LockKind } from './kinds.js';
import type { Micros } from './commands.js';

/** A live lease. */
export interface Granted {
  readonly status: 'granted';
  readonly now: Micros;
  readonly fence: number;
  /** The remaining time of the lease in microseconds, counted from `now`. */
  readonly left: Micros;
  /** The remaining hand-offs, see `Acquire.handOffs`. */
  readonly handOffs: number;
  /** The number of holds of the owner, 1 without an owner. */
  readonly holds: number;
}

/** The acquisition waits in the queue. */
export interface Queued {
  readonly status: 'queued';
  readonly now: Micros;
  readonly ticket: number;
  /** Microseconds until the next lease of the resource may end, 0 if none is held. */
  readonly next: Micros;
  /**
   * For a fair root that was queued now, at the end of the queue: the id directly before it, of a
   * waiter or of the only lease. `''` if there is none.
   */
  readonly ahead?: string;
}

/** The permits are not free, and the acquisition asked not to be queued. */
export interface Refused {
  readonly status: 'refused';
  readonly now: Micros;
  readonly next: Micros;
}

/** The queue is at its limit. */
export interface Full {
  readonly status: 'full';
  readonly now: Micros;
  readonly length: number;
}

/** The resource is in use as another kind, or with another capacity. */
export interface Mismatch {
  readonly status: 'mismatch';
  readonly now: Micros;
  readonly capacity: number;
  readonly kind: LockKind;
}

/** The acquisition waits for a signal. */
export interface AtCondition {
  readonly status: 'parked';
  readonly now: Micros;
}

/** The lease has other holds, or other leases may exist beside it, so it cannot be parked. */
export interface Shared {
  readonly status: 'shared';
  readonly now: Micros;
  /** The number of holds of the owner. */
  readonly holds: number;
}

/** There is neither a lease nor a waiter of this id. */
export interface Gone {
  readonly status: 'absent';
  readonly now: Micros;
}

/** True if the acquisition was signalled; false if it left the condition without a signal. */
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
  /** `absent`: the acquisition that signals does not hold a live lease. */
  readonly status: 'signalled' | 'absent';
  readonly now: Micros;
  /** The number of waiters that were woken. */
  readonly woken: number;
  /** The number of waiters that remained at the condition. */
  readonly left: number;
}

/**
 * The owner already holds a lease of a smaller weight. Joining it would give fewer permits than
 * requested, and waiting for more would be a deadlock with itself.
 */
export interface Conflict {
  readonly status: 'conflict';
  readonly now: Micros;
  /** The weight that the owner holds. */
  readonly weight: number;
}

/** The owner's lease has the maximum number of holds. */
export interface Crowded {
  readonly status: 'crowded';
  readonly now: Micros;
  readonly holds: number;
}

export type AcquireReply = Granted | Queued | Refused | Full | Mismatch | Conflict | Crowded;

export interface ReleaseReply {
  /**
   * `freed`: the lease ended. `kept`: the hold ended, the owner has other holds. `dequeued`: the id
   * was queued or parked. `absent`: the id had neither a lease nor a place.
   */
  readonly status: 'freed' | 'kept' | 'dequeued' | 'absent';
  readonly now: Micros;
  /** The remaining holds of the owner. */
  readonly holds: number;
}

/** How the next root of a process stands after a `turn`. */
export type Again = Granted | Queued | Gone;

export interface TurnReply {
  /** `freed`: the lease of the root ended. `absent`: there was no such lease. */
  readonly status: 'freed' | 'absent';
  readonly now: Micros;
  readonly again: Again;
}

export interface RenewReply {
  readonly status: 'renewed' | 'absent';
  readonly now: Micros;
  readonly left: Micros;
}

export interface RenewManyReply {
  readonly status: 'renewals';
  readonly now: Micros;
  /**
   * For each lease the microseconds left, or 0 if it does not exist. A store may also return
   * `FAILED` or `UNANSWERED` of `store/port.ts`.
   */
  readonly left: readonly number[];
  /** The error of one of the leases that were not renewed. */
  readonly failure?: Error;
}

/** The state of a polled id. */
export type Standing = Granted | { readonly status: 'queued' | 'parked' | 'absent' };

export interface PollReply {
  readonly status: 'polled';
  readonly now: Micros;
  readonly next: Micros;
  readonly standings: readonly Standing[];
  /** The ms after which the process has to poll again; 0 for its period, see `idle.ts`. */
  readonly pause: number;
}

export interface HolderView {
  readonly id: string;
  readonly owner: string;
  readonly weight: number;
  readonly fence: number;
  /** The reserved fences above `fence`. */
  readonly handOffs: number;
  readonly left: Micros;
  readonly holds: number;
  /** See `Acquire.tasks`. */
  readonly tasks: number;
  /** When the lease was granted. */
  readonly since: Micros;
  readonly meta: string;
  /** The first of the owner's holds; empty without an owner. */
  readonly ids: readonly string[];
}

export interface WaiterView {
  readonly id: string;
  readonly owner: string;
  readonly weight: number;
  readonly ticket: number;
  readonly fair: boolean;
  /** See `Acquire.tasks`. */
  readonly tasks: number;
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
  /** `''` if the resource is unknown. */
  readonly kind: LockKind | '';
  /** 0 if the resource is unknown. */
  readonly capacity: number;
  readonly used: number;
  /** The last fence granted or reserved, 0 if none is known. */
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
  /** The leases that were ended, by the id of the acquisition that was granted. */
  readonly ended: readonly string[];
  /** The longest time that remained for one of them, 0 if none was ended. */
  readonly left: Micros;
}

export interface ResizeReply {
  /**
   * `resized`: the lease has the requested weight, from before or from now on. `refused`: the
   * weight does not fit, the store has seen this change or a later one, or the lease has other
   * holds. `absent`: there is no such lease.
   */
  readonly status: 'resized' | 'refused' | 'absent';
  readonly now: Micros;
  /** The fence of the lease, 0 if there is none. */
  readonly fence: number;
  readonly left: Micros;
}

export interface CapacityReply {
  /**
   * `mismatch`: the current capacity is another one, or the resource is in use as another kind.
   * `absent`: there is no such resource.
   */
  readonly status: 'changed' | 'mismatch' | 'absent';
  readonly now: Micros;
  /** The current capacity, 0 if there is none. */
  readonly capacity: number;
  /** `''` if there is no such resource. */
  readonly kind: LockKind | '';
}

/** The reply type of each command. */
export interface Replies {
  acquire: AcquireReply;
  release: ReleaseReply;
  turn: TurnReply;
  renew: RenewReply;
  renewMany: RenewManyReply;
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
/** The replies to commands of one key. */
export type KeyReply = Exclude<Reply, RenewManyReply>;

/** A message that a store pushes to a channel. */
export type Push =
  | GatePush
  | {
      /** The waiter `id` has held a lease since `now`. */
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
      /**
       * `revoke`: the lease of `id` was ended by force. `signal`: `id` was parked and is now
       * queued. `ask`: the process of `id` has to poll now, see `idle.ts`.
       */
      readonly kind: 'revoke' | 'signal' | 'ask';
      readonly id: string;
    };
