/**
 * The words that the engine and its stores share: commands, replies and grants.
 *
 * Times inside a store are microseconds of that store's own clock, as safe integers (they are until
 * the year 2255). Durations in commands are milliseconds. `''` stands for "none" in strings,
 * because that is how it travels.
 */

/** Microseconds of a store's clock. */
export type Micros = number;

/**
 * Asks for permits: takes them, or joins the queue, or is refused. Repeating it with the same id
 * changes nothing.
 */
export interface Acquire {
  readonly op: 'acquire';
  readonly key: string;
  /** The acquisition's id: unique for ever, made by the caller. It owns what is granted. */
  readonly id: string;
  /**
   * Who may enter again, or `''`: an acquisition by the owner of a live lease joins that lease as
   * one more hold.
   */
  readonly owner: string;
  readonly weight: number;
  readonly capacity: number;
  /** Length of the lease in ms. */
  readonly ttl: number;
  /** Length in ms that a lease granted by push starts with, if that is shorter than `ttl`. */
  readonly claim: number;
  /** True if this acquisition waits in strict order: while it does, nobody is given passes. */
  readonly fair: boolean;
  /**
   * Leases that may be passed on in the holder's process before the store decides again. 0 in fair
   * mode.
   */
  readonly passes: number;
  /** Where to push the grant, or `''`: granted in turn all the same, and found by polling. */
  readonly channel: string;
  /** False to be refused instead of queued. */
  readonly queue: boolean;
  /** The ticket of an earlier answer, to get that place back; 0 for a new one. */
  readonly ticket: number;
  /** Longest queue that a newcomer may join. */
  readonly maxQueue: number;
  /**
   * How long the resource is remembered after its last use, in ms: the last fence, against a clock
   * that steps back.
   */
  readonly retention: number;
  /** Free text for whoever looks. */
  readonly meta: string;
}

/**
 * Gives up whatever the id has: its lease, its hold, or its place in the queue. Frees permits, and
 * serves the queue. With `to`, the lease is passed on to that waiter instead, if a pass is left.
 */
export interface Release {
  readonly op: 'release';
  readonly key: string;
  readonly id: string;
  readonly to: string;
  readonly retention: number;
}

/** Extends a live lease to at least `ttl` ms from now. Never shortens, never revives. */
export interface Renew {
  readonly op: 'renew';
  readonly key: string;
  readonly id: string;
  readonly ttl: number;
  readonly retention: number;
}

/** Serves the queue if something is due, and says how each of the ids stands. */
export interface Poll {
  readonly op: 'poll';
  readonly key: string;
  readonly ids: readonly string[];
  readonly retention: number;
}

/** Shows a resource. Changes nothing. */
export interface Inspect {
  readonly op: 'inspect';
  readonly key: string;
  /** Holders and waiters to show at most, of each. */
  readonly limit: number;
}

/**
 * Ends leases without their holders' consent: one of them (`id`), or all (`''`). Serves the queue.
 */
export interface Force {
  readonly op: 'force';
  readonly key: string;
  readonly id: string;
  readonly retention: number;
}

export type Command = Acquire | Release | Renew | Poll | Inspect | Force;
export type Op = Command['op'];

/** What a live lease looks like from its store. */
export interface Granted {
  readonly status: 'granted';
  readonly now: Micros;
  readonly fence: number;
  /** Microseconds that the lease still runs, counted from `now`. */
  readonly left: Micros;
  /** Passes left, see `Acquire.passes`. */
  readonly passes: number;
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

export type AcquireReply = Granted | Queued | Refused | Full | Mismatch;

export interface ReleaseReply {
  /**
   * `freed`: the lease is over; `kept`: the hold is over, the owner has others; `passed`: the lease
   * is the successor's; `dequeued`: the id had waited; `absent`: the id had nothing (any more).
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
export type Standing = Granted | { readonly status: 'queued' } | { readonly status: 'absent' };

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
}

export interface WaiterView {
  readonly id: string;
  readonly owner: string;
  readonly weight: number;
  readonly ticket: number;
  readonly fair: boolean;
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
  readonly holders: readonly HolderView[];
  readonly waiters: readonly WaiterView[];
}

export interface ForceReply {
  readonly status: 'forced';
  readonly now: Micros;
  /** Leases that were ended. */
  readonly ended: number;
}

/** Which reply belongs to which command. */
export interface Replies {
  acquire: AcquireReply;
  release: ReleaseReply;
  renew: RenewReply;
  poll: PollReply;
  inspect: InspectReply;
  force: ForceReply;
}
export type Reply = Replies[Op];
export type ReplyTo<C extends Command> = Replies[C['op']];

/** What a store pushes to a channel. */
export type Push =
  | {
      /** The waiter `id` holds a lease since `now`. */
      readonly kind: 'grant';
      readonly id: string;
      readonly fence: number;
      readonly now: Micros;
      readonly left: Micros;
      readonly passes: number;
      readonly holds: number;
    }
  | {
      /** The lease of `id` was ended by force. */
      readonly kind: 'revoke';
      readonly id: string;
    };
