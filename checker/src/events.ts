/**
 * The history of a run: what processes asked for, got and gave back, one event a line.
 *
 * `t` is in ms on one timeline for all processes; `p` names the process; `e` the event; `k` the
 * key; `a` the attempt, unique in the whole history. An attempt goes one of these ways:
 *
 *     ask [queued] --grant--> believed --release--> released
 *        \                       \---lost (signal, or `held` turned false)
 *         \--fail (code, or null for a refusal by value)
 *
 * Whoever writes may add fields of its own: what is not named here is not judged. Fields that are
 * named are validated, because a check that reads nonsense would find nothing.
 */

import type {
  Await,
  Count,
  Counted,
  Park,
  Passed,
  Signal,
  Signalled,
  SlotRun,
  Stopped,
  Woken,
} from './events-of-waits.js';

export type * from './events-of-waits.js';

/** When, and in which process. */
export interface Stamp {
  readonly t: number;
  readonly p: string;
}

/** The run begins: the settings that bounds are taken from. All of them are optional. */
export interface Begin {
  readonly e: 'begin';
  readonly localHandOffs?: number;
  readonly claimWindow?: number;
  readonly ttl?: number;
  readonly requestTimeout?: number;
  /** Ms for which a store remembers a wait at a condition that nothing asks about. */
  readonly retention?: number;
  /** Ms after `calm`, or after a later ask, by which every ask has ended. */
  readonly settle?: number;
  /** Ms by which timers and answers may be late on a busy machine. Default 5,000. */
  readonly slack?: number;
  /** Longest time in ms that a message takes where nothing is broken. Default 0. */
  readonly delay?: number;
  /** Ms after a fault in which a waiter may still lose its turn. */
  readonly felt?: number;
  /** Ms for which what was given up unanswered may still hold or wait in the store. */
  readonly grace?: number;
  readonly seed?: number | string;
}

/** An acquisition is called. `wait` is left out where there is no limit. */
export interface Ask {
  readonly e: 'ask';
  readonly k: string;
  readonly a: string;
  readonly weight: number;
  readonly capacity: number;
  readonly fair: boolean;
  readonly wait?: number;
  /** Acquisitions of one owner share a lease, and its fence. */
  readonly owner?: string;
  /** It came back from a condition: since when it was in the queue is not known. */
  readonly back?: boolean;
}

/** The store has put the attempt into its queue, with this ticket. */
export interface Queued {
  readonly e: 'queued';
  readonly k: string;
  readonly a: string;
  readonly ticket: number;
}

/** The acquisition resolved to a lease. */
export interface Grant {
  readonly e: 'grant';
  readonly k: string;
  readonly a: string;
  /** The id of the acquisition, as the store knows it. */
  readonly id: string;
  readonly fence: number;
  /** `false` if `lease.held` was not true any more when this was written. */
  readonly held?: boolean;
}

/** The acquisition ended without a lease. `null`: a refusal by value. */
export interface Fail {
  readonly e: 'fail';
  readonly k: string;
  readonly a: string;
  readonly code: string | null;
}

/** The process asked `lease.held`, and it was true. */
export interface Hold {
  readonly e: 'hold';
  readonly k: string;
  readonly a: string;
}

/** The release is called. */
export interface Release {
  readonly e: 'release';
  readonly k: string;
  readonly a: string;
}

/** The release has returned, or failed: `outcome` is what it resolved to, or the error's code. */
export interface Released {
  readonly e: 'released';
  readonly k: string;
  readonly a: string;
  readonly outcome: string;
}

/** The lease's signal aborted, or `held` turned false without a release. */
export interface Lost {
  readonly e: 'lost';
  readonly k: string;
  readonly a: string;
}

/**
 * The fenced resource was written to; `t` is after its answer. The resource took the write at a
 * moment between `sent` and `t`, and `at` counts the writes to the key in the resource's own order.
 */
export interface Use {
  readonly e: 'use';
  readonly k: string;
  readonly a: string;
  readonly fence: number;
  readonly accepted: boolean;
  /** Before the write was sent. Left out: the fence was not known before the grant. */
  readonly sent?: number;
  /** The number that the resource gave the write. */
  readonly at?: number;
}

/** A forced release is called (`force`), and has returned (`forced`). No `id`: all leases. */
export interface Force {
  readonly e: 'force' | 'forced';
  readonly k: string;
  readonly id?: string;
}

/** A new capacity is asked for. */
export interface Resize {
  readonly e: 'resize';
  readonly k: string;
  readonly capacity: number;
}

/**
 * A `resize` of the same process is over: `accepted` if the store said that it was carried out. If
 * not, it may have been; it will not be any more.
 */
export interface Resized {
  readonly e: 'resized';
  readonly k: string;
  readonly capacity: number;
  readonly accepted: boolean;
}

/** The lease of an attempt has another weight and fence from here on, as by an upgrade. */
export interface Weight {
  readonly e: 'weight';
  readonly k: string;
  readonly a: string;
  readonly weight: number;
  readonly fence: number;
}

/** The process did nothing for the last `ms`: it computed, or was not given the processor. */
export interface Stalled {
  readonly e: 'stalled';
  readonly ms: number;
}

/** The process ended without warning. */
export interface Crash {
  readonly e: 'crash';
}

/** Something was broken or mended. A fault with phases has the same `p` and `kind` in both. */
export interface Fault {
  readonly e: 'fault';
  readonly kind: string;
  readonly phase: 'begin' | 'end' | 'once';
  /** Ms by which a clock was set. */
  readonly step?: number;
}

/** No fault from here on. */
export interface Calm {
  readonly e: 'calm';
}

/**
 * A store lost its memory: of everything, or of key `k`. Where fences are times of the store, the
 * two moments are more exact than the place in the history.
 */
export interface Amnesia {
  readonly e: 'amnesia';
  readonly k?: string;
  /** The smallest fence that may have been granted after the loss. */
  readonly from?: number;
  /** The greatest fence that may have been granted before it. */
  readonly to?: number;
}

/** What the store showed of a key when everything was over. */
export interface Seen {
  readonly e: 'seen';
  readonly k: string;
  readonly holders: readonly { id: string; fence: number; weight: number }[];
  readonly waiters: readonly string[];
  /** All have ended, and leases that were left behind have expired: nothing may be there. */
  readonly last?: boolean;
}

/** The run is over. */
export interface End {
  readonly e: 'end';
}

/** What happened. */
export type Happening =
  | (Begin | Ask | Queued | Grant | Fail | Hold | Release | Released | Lost | Use)
  | (Weight | Park | Woken | Signal | Signalled | SlotRun)
  | (Count | Counted | Await | Passed | Stopped)
  | (Force | Resize | Resized | Stalled | Crash | Fault | Calm | Amnesia | Seen | End);

/** What happened, when and where: one line of a history. */
export type HistoryEvent = Happening & Stamp;

/** The events of one attempt. */
export type AttemptEvent = Extract<HistoryEvent, { readonly a: string }>;
