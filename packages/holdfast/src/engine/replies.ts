/** The replies and the pushes of a store. */
import type { GatePush, GateReply } from './gate-messages.js';
import type { LockKind } from './kinds.js';
import type { Micros } from './commands.js';

export interface Granted {
  readonly status: 'granted';
  readonly now: Micros;
  readonly fence: number;
  /** Microseconds until its end. */
  readonly left: Micros;
  readonly handOffs: number;
  readonly holds: number;
}

export interface Queued {
  readonly status: 'queued';
  readonly now: Micros;
  readonly ticket: number;
  /** Microseconds until the next lease of the resource may end, or 0. */
  readonly next: Micros;
  /**
   * For a fair root that was queued now: the id directly before it, of a waiter or of the only
   * lease, or `''`.
   */
  readonly ahead?: string;
}

/** Not free, and not to be queued. */
export interface Refused {
  readonly status: 'refused';
  readonly now: Micros;
  readonly next: Micros;
}

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

export interface AtCondition {
  readonly status: 'parked';
  readonly now: Micros;
}

/** The lease has other holds, or others may exist beside it, so it cannot be parked. */
export interface Shared {
  readonly status: 'shared';
  readonly now: Micros;
  readonly holds: number;
}

/** Neither a lease nor a waiter has the id. */
export interface Gone {
  readonly status: 'absent';
  readonly now: Micros;
}

/** False if it left the condition without a signal. */
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
  /** `absent`: the acquisition that signals holds no live lease. */
  readonly status: 'signalled' | 'absent';
  readonly now: Micros;
  readonly woken: number;
  readonly left: number;
}

/**
 * The owner's lease has a smaller weight: joining it would give too few permits, waiting would be a
 * deadlock with itself.
 */
export interface Conflict {
  readonly status: 'conflict';
  readonly now: Micros;
  readonly weight: number;
}

/** The owner's lease has the most holds. */
export interface Crowded {
  readonly status: 'crowded';
  readonly now: Micros;
  readonly holds: number;
}

export type AcquireReply = Granted | Queued | Refused | Full | Mismatch | Conflict | Crowded;

export interface ReleaseReply {
  /**
   * `freed`: the lease ended. `kept`: the hold ended, the owner has others. `dequeued`: the id was
   * queued or parked. `absent`: neither.
   */
  readonly status: 'freed' | 'kept' | 'dequeued' | 'absent';
  readonly now: Micros;
  readonly holds: number;
}

export type Again = Granted | Queued | Gone;

export interface TurnReply {
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
   * Microseconds that each lease lasts; 0: it does not exist. A store may return `FAILED` or
   * `UNANSWERED` of `store/port.ts`.
   */
  readonly left: readonly number[];
  readonly failure?: Error;
}

export type Standing = Granted | { readonly status: 'queued' | 'parked' | 'absent' };

export interface PollReply {
  readonly status: 'polled';
  readonly now: Micros;
  readonly next: Micros;
  readonly standings: readonly Standing[];
  /** Ms to the next poll; 0: its period, see `idle.ts`. */
  readonly pause: number;
}

export interface HolderView {
  readonly id: string;
  readonly owner: string;
  readonly weight: number;
  readonly fence: number;
  /** Fences reserved above `fence`. */
  readonly handOffs: number;
  readonly left: Micros;
  readonly holds: number;
  readonly tasks: number;
  readonly since: Micros;
  readonly meta: string;
  readonly ids: readonly string[];
}

export interface WaiterView {
  readonly id: string;
  readonly owner: string;
  readonly weight: number;
  readonly ticket: number;
  readonly fair: boolean;
  readonly tasks: number;
  readonly meta: string;
}

export interface ParkedView {
  readonly id: string;
  readonly owner: string;
  readonly condition: string;
  readonly since: Micros;
  readonly meta: string;
}

export interface InspectReply {
  readonly status: 'inspected';
  readonly now: Micros;
  readonly kind: LockKind | '';
  readonly capacity: number;
  readonly used: number;
  /** The last one granted or reserved, or 0. */
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
  /** The leases, by the id that was granted. */
  readonly ended: readonly string[];
  /** The longest time that one of them had left, or 0. */
  readonly left: Micros;
}

export interface ResizeReply {
  /**
   * `resized`: the lease has the requested weight, from before or from now on. `refused`: it does
   * not fit, the change or a later one was seen, or the lease has other holds. `absent`: there is
   * no such lease.
   */
  readonly status: 'resized' | 'refused' | 'absent';
  readonly now: Micros;
  /** 0 without a lease. */
  readonly fence: number;
  readonly left: Micros;
}

export interface CapacityReply {
  /** `mismatch`: another capacity or kind. `absent`: none. */
  readonly status: 'changed' | 'mismatch' | 'absent';
  readonly now: Micros;
  /** The capacity, or 0. */
  readonly capacity: number;
  readonly kind: LockKind | '';
}

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
export type KeyReply = Exclude<Reply, RenewManyReply>;

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
      readonly token: string;
    }
  | {
      /**
       * `revoke`: the lease of `id` was ended by force. `signal`: `id` was parked and is queued.
       * `ask`: the process of `id` has to poll, see `idle.ts`.
       */
      readonly kind: 'revoke' | 'signal' | 'ask';
      readonly id: string;
    };
