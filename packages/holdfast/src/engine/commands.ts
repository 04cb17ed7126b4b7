/**
 * The words that the engine and its stores share: commands here, replies and pushes in
 * `replies.ts`.
 *
 * Times inside a store are microseconds of that store's own clock, as safe integers (they are until
 * the year 2255). Durations in commands are milliseconds. `''` stands for "none" in strings,
 * because that is how it travels.
 */

import type { GateCommand } from './gate-messages.js';
import type { Replies } from './replies.js';

export type * from './gate-messages.js';
export type * from './replies.js';

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
  /**
   * Length in ms that a lease granted by push starts with, if that is shorter than `ttl`. It is the
   * ttl of a lease that its holder does not renew.
   */
  readonly claim: number;
  /** True if this acquisition waits in strict order: while it does, nobody is given passes. */
  readonly fair: boolean;
  /**
   * Leases that may be passed on in the holder's process before the store decides again. 0 in fair
   * mode.
   */
  readonly handOffs: number;
  /** Where to push the grant, or `''`: the grant is then found by polling. */
  readonly channel: string;
  /**
   * A secret that the push of the grant repeats, or `''` without a channel: a message without it is
   * not from the store.
   */
  readonly token: string;
  /** False to be refused instead of queued. */
  readonly queue: boolean;
  /** The ticket of an earlier answer, to get that place back; 0 for a new one. */
  readonly ticket: number;
  /** Longest queue that a newcomer may join. */
  readonly maxQueue: number;
  /**
   * Ms without a word of this process after which it is taken for dead and its waiters are passed
   * over; see `processes.ts`.
   */
  readonly patience: number;
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
  /**
   * True if the caller has never passed a lease of `id` on and never will: then no fence that is
   * reserved for passes was used, and they go back. Left out: false.
   */
  readonly unpassed?: boolean;
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

/**
 * Lets queued ids join their owners' live leases, serves the queue if something is due, and says
 * how each of the ids stands.
 */
export interface Poll {
  readonly op: 'poll';
  readonly key: string;
  readonly ids: readonly string[];
  /** As in `Acquire`; 0 if this does not ask on behalf of waiters. */
  readonly patience: number;
  readonly retention: number;
}

/** Shows a resource. Changes nothing. */
export interface Inspect {
  readonly op: 'inspect';
  readonly key: string;
  /** Holders, waiters, and holds of an owner to show at most, of each. */
  readonly limit: number;
}

/**
 * Ends leases without their holders' consent: one of them (`id`), or all (`''`). Serves the queue.
 */
export interface ForceRelease {
  readonly op: 'forceRelease';
  readonly key: string;
  readonly id: string;
  readonly retention: number;
}

/**
 * Gives up the lease `id` and, in the same step, waits for a signal as the acquisition `as`: parked
 * at a condition, and out of the queue until it is signalled or wants the permits back by itself.
 * Only for a lease that is its holder's alone. Repeating it with the same `as` changes nothing.
 */
export interface Park {
  readonly op: 'park';
  readonly key: string;
  /** The acquisition whose lease is given up. */
  readonly id: string;
  /**
   * The acquisition that waits. It has the owner and the weight of the lease, and while it is
   * parked nobody asks for it but with this command.
   */
  readonly as: string;
  readonly condition: string;
  /**
   * What `as` wants now: to be signalled; or the permits, signalled or not; or nothing: then the
   * lease, the parked place and whatever else the two have is given up, and a signal that was for
   * `as` goes to the next.
   */
  readonly want: 'signal' | 'permits' | 'nothing';
  readonly ttl: number;
  readonly claim: number;
  readonly fair: boolean;
  readonly handOffs: number;
  readonly channel: string;
  /** See `Acquire.token`. */
  readonly token: string;
  /** Most that may be parked. */
  readonly maxParked: number;
  /** As in `Acquire`. */
  readonly patience: number;
  /** Also how long a parked waiter is kept that nobody asks about, in ms. */
  readonly retention: number;
  readonly meta: string;
}

/**
 * Moves parked waiters of a condition to the end of the queue, in the order in which they parked.
 */
export interface Signal {
  readonly op: 'signal';
  readonly key: string;
  /** The acquisition that signals: it must hold. */
  readonly id: string;
  readonly condition: string;
  /** How many to wake, 0 for all. */
  readonly count: number;
  /** Grows with each signal of this lease: what is not above the last one wakes nobody. */
  readonly seq: number;
  readonly retention: number;
}

/**
 * Changes the weight of a live lease. To less: always, and the queue is served. To more: only if it
 * fits at once; it is then a new grant, with a fence of its own.
 *
 * Of a lease of several holds, each has its own weight, and the lease weighs as much as the
 * heaviest of them. A hold may take as much as the lease weighs already; another change is refused.
 */
export interface Resize {
  readonly op: 'resize';
  readonly key: string;
  readonly id: string;
  readonly weight: number;
  /**
   * The lease's fence as the caller knows it: a late duplicate of an earlier change names an older
   * one, and changes nothing.
   */
  readonly fence: number;
  readonly retention: number;
}

/**
 * Changes the capacity of a resource in use. No lease is taken away: if more is held than there is
 * now, nothing is granted until it fits.
 */
export interface SetCapacity {
  readonly op: 'capacity';
  readonly key: string;
  /** The capacity that was agreed so far, as the caller knows it. */
  readonly from: number;
  readonly capacity: number;
  readonly retention: number;
}

/** What keeps the queue and the leases in motion. */
type Taking = Acquire | Release | Renew | Poll | Inspect | ForceRelease;
export type LockCommand = Taking | Park | Signal | Resize | SetCapacity;
export type Command = LockCommand | GateCommand;
export type Op = Command['op'];
export type ReplyTo<C extends Command> = Replies[C['op']];
