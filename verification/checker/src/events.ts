/**
 * The events of a history: what the processes of a run asked for, got and released.
 *
 * `t` is in ms on one timeline for all processes. `p` names the process, `e` the event, `k` the
 * key, and `a` the attempt, unique in the history. An attempt has one of these sequences of events:
 *
 *     ask [queued] --grant--> believed --release--> released
 *        \                       \---lost (signal, or `held` turned false)
 *         \--fail (code, or null if the call resolved to null)
 *
 * A writer may add fields of its own, which are ignored. The fields named here are validated,
 * because a check that reads a wrong value would find nothing.
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

/** The time and the process of an event. */
export interface Stamp {
  readonly t: number;
  readonly p: string;
}

/** The run begins. The bounds of the checks come from these settings. All are optional. */
export interface Begin {
  readonly e: 'begin';
  readonly localHandOffs?: number;
  readonly claimWindow?: number;
  readonly ttl?: number;
  readonly requestTimeout?: number;
  /** Ms for which a store keeps a waiter at a condition that is not polled. */
  readonly retention?: number;
  /** Every ask ends within so many ms after it and after `calm`. */
  readonly settle?: number;
  /** Ms by which timers and replies may be late on a busy machine. Default 5,000. */
  readonly slack?: number;
  /** Longest time in ms that a message takes without a fault. Default 0. */
  readonly delay?: number;
  /** Ms after a fault in which a waiter may still lose its turn. */
  readonly felt?: number;
  /** Ms for which an abandoned acquisition may still hold or wait in the store. */
  readonly grace?: number;
  readonly seed?: number | string;
}

/** An acquisition is called. `wait` is missing if it has no limit. */
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
  /** It returns from a condition: its time of entry into the queue is unknown. */
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
  /** `false` if `lease.held` was already false when this event was written. */
  readonly held?: boolean;
}

/** The acquisition ended without a lease. `code` is `null` if it resolved to `null`. */
export interface Fail {
  readonly e: 'fail';
  readonly k: string;
  readonly a: string;
  readonly code: string | null;
}

/** The process read `lease.held`, and it was true. */
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
 * A write to the fenced resource; `t` is the time of its reply. The resource processed the write
 * between `sent` and `t`. `at` counts the writes to the key in the order of the resource.
 */
export interface Use {
  readonly e: 'use';
  readonly k: string;
  readonly a: string;
  readonly fence: number;
  readonly accepted: boolean;
  /** Time before the write was sent. If missing, the time of the grant is used. */
  readonly sent?: number;
  /** The number of the write in the resource. */
  readonly at?: number;
}

/** A forced release is called (`force`) or has returned (`forced`). Without `id`: all leases. */
export interface ForceRelease {
  readonly e: 'force' | 'forced';
  readonly k: string;
  readonly id?: string;
}

/** A change of the capacity is called. */
export interface Resize {
  readonly e: 'resize';
  readonly k: string;
  readonly capacity: number;
}

/**
 * A `resize` of the same process has ended. `accepted`: the store replied that it took effect. If
 * not, it may have taken effect before this event, but does not take effect later.
 */
export interface Resized {
  readonly e: 'resized';
  readonly k: string;
  readonly capacity: number;
  readonly accepted: boolean;
}

/** The lease has another weight and fence from now on (upgrade, downgrade). */
export interface Weight {
  readonly e: 'weight';
  readonly k: string;
  readonly a: string;
  readonly weight: number;
  readonly fence: number;
  /** `false` if `lease.held` was false when this event was written: the lease is in doubt. */
  readonly held?: boolean;
}

/** The process did nothing for the last `ms`: it was blocked, or had no processor. */
export interface Stalled {
  readonly e: 'stalled';
  readonly ms: number;
}

/** The process ended without warning. */
export interface Crash {
  readonly e: 'crash';
}

/** A fault begins, ends, or happens once. `begin` and `end` have the same `p` and `kind`. */
export interface Fault {
  readonly e: 'fault';
  readonly kind: string;
  readonly phase: 'begin' | 'end' | 'once';
  /** Ms by which a clock was set. */
  readonly step?: number;
}

/** There are no faults after this event. */
export interface Calm {
  readonly e: 'calm';
}

/**
 * A store lost its memory: all of it, or that of key `k`. If fences are times of the store, `from`
 * and `to` are more exact than the position of the event in the history.
 */
export interface Amnesia {
  readonly e: 'amnesia';
  readonly k?: string;
  /** The smallest fence that may have been granted after the loss. */
  readonly from?: number;
  /** The greatest fence that may have been granted before it. */
  readonly to?: number;
}

/** The holders and waiters of a key that the store shows. */
export interface Seen {
  readonly e: 'seen';
  readonly k: string;
  readonly holders: readonly { id: string; fence: number; weight: number }[];
  readonly waiters: readonly string[];
  /** All attempts have ended and abandoned leases have expired: nothing may be there. */
  readonly last?: boolean;
}

/** The run has ended. */
export interface End {
  readonly e: 'end';
}

/** An event without time and process. */
export type Happening =
  | (Begin | Ask | Queued | Grant | Fail | Hold | Release | Released | Lost | Use)
  | (Weight | Park | Woken | Signal | Signalled | SlotRun)
  | (Count | Counted | Await | Passed | Stopped)
  | (ForceRelease | Resize | Resized | Stalled | Crash | Fault | Calm | Amnesia | Seen | End);

/** One line of a history. */
export type HistoryEvent = Happening & Stamp;

/** The events of one attempt. */
export type AttemptEvent = Extract<HistoryEvent, { readonly a: string }>;
