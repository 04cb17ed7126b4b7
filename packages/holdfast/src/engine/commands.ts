/**
 * The commands of the engine and its stores; replies and pushes are in `replies.ts`.
 *
 * Times inside a store are microseconds of its clock, as safe integers (until the year 2255).
 * Durations in commands are milliseconds. In strings `''` means "none", as in the arguments of
 * scripts.
 */

import type { GateCommand } from './gate-messages.js';
import type { LockKind } from './kinds.js';
import type { Replies } from './replies.js';

export type * from './gate-messages.js';
export type * from './replies.js';

export type Micros = number;

/**
 * Requests permits: a grant, a place in the queue, or a refusal. Repeated with the same id, it
 * changes nothing.
 */
export interface Acquire {
  readonly op: 'acquire';
  readonly key: string;
  /** Made by the caller, never used twice; the grant belongs to it. */
  readonly id: string;
  /** For re-entry: an acquisition of a live lease's owner joins that lease as one more hold. */
  readonly owner: string;
  readonly weight: number;
  readonly kind: LockKind;
  readonly capacity: number;
  readonly ttl: number;
  /**
   * The claim window: the length of a lease granted by push, if shorter than `ttl`. Equal to `ttl`
   * without renewal.
   */
  readonly claim: number;
  /** Strict order: while it waits, only fair roots get hand-offs. */
  readonly fair: boolean;
  /**
   * How often the process of a root may hand the lease off before the store must decide, if others
   * wait; see `handOffsOf`. 0 if it is no root.
   */
  readonly handOffs: number;
  /** For the push of the grant; `''`: the waiter polls. */
  readonly channel: string;
  /** A secret that the push repeats, to show that the store sent it; `''` without a channel. */
  readonly token: string;
  /** False to be refused instead of queued. */
  readonly queue: boolean;
  /** The ticket of an earlier reply, to get that place back; 0 for a new place. */
  readonly ticket: number;
  /**
   * Whole ms for which the oldest task of a root has waited in its process; default 0. Without a
   * `ticket`, it decides the place in the queue.
   */
  readonly waited?: number;
  /** The tasks that wait for this root (default 0), for inspect. */
  readonly tasks?: number;
  readonly maxQueue: number;
  /**
   * After so many ms without a command of this process, its waiters are dropped; see
   * `processes.ts`.
   */
  readonly patience: number;
  /**
   * How long the store keeps the resource, with its last fence, after its last use: the clock may
   * step back.
   */
  readonly retention: number;
  readonly meta: string;
}

/** Ends the lease, the hold or the wait of an id, and serves the queue. */
export interface Release {
  readonly op: 'release';
  readonly key: string;
  readonly id: string;
  /**
   * The caller never handed a lease of `id` off and never will: the fences reserved for that become
   * free. Default: false.
   */
  readonly unpassed?: boolean;
  /**
   * There is probably nothing to end. Where commands of several processes may collide, it lets the
   * others pass. Default: false.
   */
  readonly unhurried?: boolean;
  /** Its process does not know the lease: its signal goes to the next. On registers. */
  readonly unheard?: boolean;
  readonly retention: number;
}

/**
 * Ends a root, and queues the next root of the process (`again`). A repeated command finds no lease
 * of the root and changes nothing. It reports how `again` stands.
 *
 * If the store holds the root with another fence, a late duplicate of its request was granted. That
 * lease ends too, and `again` is not queued.
 */
export interface Turn {
  readonly op: 'turn';
  readonly key: string;
  readonly id: string;
  readonly fence: number;
  /** The last fence that the root used; those after it become free. */
  readonly used: number;
  /**
   * The next root of the process, or `''`, described below as in `Acquire`; its weight is 1, and it
   * has no owner.
   */
  readonly again: string;
  readonly ttl: number;
  readonly claim: number;
  readonly handOffs: number;
  readonly channel: string;
  readonly token: string;
  readonly waited: number;
  readonly tasks: number;
  readonly patience: number;
  readonly retention: number;
  readonly meta: string;
  /** Default: false. */
  readonly fair?: boolean;
  /** Default: 0. */
  readonly ticket?: number;
}

/**
 * Extends a live lease to at least `ttl` ms from now; never shortens one or restores an expired
 * one.
 */
export interface Renew {
  readonly op: 'renew';
  readonly key: string;
  readonly id: string;
  readonly ttl: number;
  readonly retention: number;
  /** For pushes to the process of the lease, or of this hold. Default: the known channel. */
  readonly channel?: string;
  /** See `Acquire`. Default: the known number. */
  readonly tasks?: number | undefined;
}

/**
 * Extends several leases, each as `Renew` does; an error affects only its key. A `ttl` of 0 only
 * reads how long they last.
 */
export interface RenewMany {
  readonly op: 'renewMany';
  readonly keys: readonly string[];
  readonly ids: readonly string[];
  readonly ttl: number;
  readonly retention: number;
}

/**
 * Serves the queue and returns the state of each id. A queued id joins a live lease of its owner.
 */
export interface Poll {
  readonly op: 'poll';
  readonly key: string;
  readonly ids: readonly string[];
  /** As in `Acquire`; 0 if the caller does not ask for waiters. */
  readonly patience: number;
  /**
   * Whole ms to the next poll, if the reply allows no pause; 0 (the default): it takes no pause,
   * and is never asked.
   */
  readonly period?: number;
  readonly retention: number;
}

export interface Inspect {
  readonly op: 'inspect';
  readonly key: string;
  /** The most holders, waiters, and holds of one owner. */
  readonly limit: number;
}

/** Ends the lease `id`, or all (`''`), without the holders' consent. Serves the queue. */
export interface ForceRelease {
  readonly op: 'forceRelease';
  readonly key: string;
  readonly id: string;
  readonly retention: number;
}

/**
 * Releases the lease `id` and waits for a signal as the acquisition `as`, in one step. `as` is
 * parked at a condition, outside the queue, until it is signalled or wants the permits without a
 * signal. Only for a lease with one hold. Repeated with the same `as`, it changes nothing.
 */
export interface Park {
  readonly op: 'park';
  readonly key: string;
  readonly id: string;
  /**
   * This id waits, with the lease's owner and weight. While it is parked, only this command and
   * polls name it.
   */
  readonly as: string;
  readonly condition: string;
  /**
   * `signal`: `as` waits for a signal. `permits`: it wants the permits, signalled or not.
   * `nothing`: the call ends; everything of both ids is released, and a signal for `as` goes to the
   * next parked waiter.
   */
  readonly want: 'signal' | 'permits' | 'nothing';
  /** As in `Turn`; 0 (the default) without a hand-off. */
  readonly used?: number;
  readonly ttl: number;
  readonly claim: number;
  readonly fair: boolean;
  readonly channel: string;
  readonly token: string;
  readonly maxParked: number;
  readonly patience: number;
  /** As in `Acquire`. A parked waiter that is not polled for this long is dropped. */
  readonly retention: number;
  readonly meta: string;
}

/** Moves parked waiters of a condition to the end of the queue, in the order of parking. */
export interface Signal {
  readonly op: 'signal';
  readonly key: string;
  /** The signalling acquisition, which must hold a live lease. */
  readonly id: string;
  readonly condition: string;
  /** The waiters to wake, 0 for all. */
  readonly count: number;
  /** Grows with each signal of this lease; a smaller or equal number wakes no waiter. */
  readonly seq: number;
  readonly retention: number;
}

/**
 * Changes the weight of a live lease. Less is always allowed, and serves the queue. More must fit
 * at once; it is a new grant, with a new fence.
 *
 * One of several holds may grow up to the weight of the heaviest. Any other change of it is
 * refused.
 */
export interface Resize {
  readonly op: 'resize';
  readonly key: string;
  readonly id: string;
  readonly weight: number;
  /** The ttl of a lease that gets more weight: with `replicas`, that counts as a grant. */
  readonly grows?: number;
  /**
   * Grows with each change of an acquisition. A late duplicate has a number that the store has seen
   * and changes nothing, also if the change was refused.
   */
  readonly seq: number;
  readonly retention: number;
}

/**
 * Changes the capacity of a semaphore in use, and ends no lease: if more permits are held, none is
 * granted until enough are released.
 */
export interface SetCapacity {
  readonly op: 'capacity';
  readonly key: string;
  readonly from: number;
  readonly capacity: number;
  readonly retention: number;
}

type Taking = Acquire | Release | Turn | Renew | Poll | Inspect | ForceRelease;
export type LockCommand = Taking | Park | Signal | Resize | SetCapacity;
export type KeyCommand = LockCommand | GateCommand;
export type Command = KeyCommand | RenewMany;
export type Op = Command['op'];
export type ReplyTo<C extends Command> = Replies[C['op']];
