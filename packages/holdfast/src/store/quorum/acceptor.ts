/**
 * The acceptor port: one server of a quorum. It keeps a promise and an accepted value for each key,
 * and decides alone; `quorum-register.ts` says what several of them guarantee.
 *
 * A server that may have forgotten its votes does not vote. Its marker names its boot:
 *
 *     foreign --check--> undecided --decision--> guarded --the time has come--> voting
 *        ^-------------------------- restart, promotion, loss of the keys ---------/
 *
 * Each vote compares the marker with the boot, so no vote depends on an earlier check. A check that
 * finds a difference overwrites the marker in the same step, so what an older snapshot says about
 * votes counts for nothing.
 */
import type { Micros } from '../../engine/commands.js';
import type { TimeLimit } from '../port.js';
import type { Message, MessageListener } from '../register/register.js';

/** The least time in ms for which a promise is kept: much longer than a request is on its way. */
export const PROMISE_MS = 60_000;

/**
 * Records that must be kept for longer than this, in ms, are noted by key: a server without memory
 * then waits that long for these keys only.
 */
export const LONG_MS = 180_000;
/** The most such keys that are noted. With more, they count for all keys. */
export const LONG_MAX = 1000;

export interface Accepted {
  /** `''` if there is no value. */
  readonly ballot: string;
  readonly value: string;
}

export interface Promised extends Accepted {
  /** No value that the server accepted, for any key, has a greater fence. */
  readonly mark: number;
  /** Commands that were left for the process that asks. The server then forgets them. */
  readonly left: string;
}

export interface Asker {
  /** Its secret and channel, see `ownerText`; `''` if it does not listen; or `UNUSED`. */
  readonly owner: string;
  /**
   * A promise that another process will use stays if it is younger than this, in µs; a tenth of it
   * if that process does not listen; 0: none stays. The age is that of its ballot; one from the
   * future, before the clocks were set back, does not stay.
   */
  readonly yields: Micros;
  /**
   * Commands to keep for the owner of a promise that stays, one a line; see `quorum-peers.ts`. Only
   * one server gets them.
   */
  readonly left?: string | undefined;
}

export const LEFT_MAX: number = 1024 * 1024;

export const ownerText = (secret: string, channel: string): string => `${secret} ${channel}`;

/** The owner of a promise that will probably not be used soon. Such a promise does not stay. */
export const UNUSED = '-';

/** Tells an owner that a server keeps commands for it. The proof shows its secret. */
export const leftText = (proof: string, key: string): string => `>${proof} ${key}`;

export const URGENT: Asker = { owner: '', yields: 0 };

export const yieldsTo = (yields: Micros, owner: string): Micros =>
  owner === '' ? yields / 10 : yields;

export interface Proposal {
  readonly ballot: string;
  /** The time of the quorum or earlier; a guarded server goes by it. */
  readonly now: Micros;
  /** A greater ballot of the same proposer, promised with the acceptance. */
  readonly next: string;
  /** The process that will use `next`, see `Asker`. */
  readonly owner?: string | undefined;
  readonly value: string;
  /** How long the server keeps the record, in ms. */
  readonly keep: number;
  readonly fence: number;
  /** True if the state becomes longer: a server with full memory may refuse it. */
  readonly grows: boolean;
  /** Published if the value is accepted, with the ballot before the text. */
  readonly messages: readonly Message[];
  /**
   * Published like a message, with the value after the text: the process that listens there gets
   * `next`, and the proposer does not use it.
   */
  readonly handOver?: Message | undefined;
}

/**
 * The answer to a request, with the clock of the server:
 *
 * - `yes`: promised, with the value accepted before; or accepted.
 * - `no`: another promise stays. `kept`: the server keeps the left commands.
 * - `guarded`: it may have forgotten votes, and votes again from `until` on (time of the quorum).
 * - `unmarked`: it needs a new marker; `check` is the next step.
 */
export type Vote =
  | ({ readonly status: 'yes'; readonly time: Micros } & Promised)
  | {
      readonly status: 'no';
      readonly time: Micros;
      readonly promised: string;
      readonly kept: boolean;
    }
  | { readonly status: 'guarded'; readonly time: Micros; readonly until: Micros }
  | { readonly status: 'unmarked' };

/** A key, and the time of the quorum until which its record must be kept. */
export type LongRecord = readonly [key: string, until: Micros];

/** From when on a server without memory votes, and what it must know then. */
export interface Decision {
  /**
   * The boot for which it was decided: a client may repeat a request after the next restart, and
   * the decision must not count for that boot.
   */
  readonly boot: string;
  /** The time of the quorum from which it votes. */
  readonly from: Micros;
  /** The keys for which it votes later. */
  readonly long: readonly LongRecord[];
  readonly mark: number;
}

/** What `check` decides about a server with a foreign marker, or without one. */
export interface GuardTerms {
  /** True if a restart loses no vote: the server votes at once. */
  readonly durable: boolean;
  readonly decision?: Decision | undefined;
  /** True if the answer names the long records. */
  readonly long?: boolean | undefined;
}

export interface ServerStatus {
  readonly time: Micros;
  readonly runId: string;
  /** New after each restart, and when a replica becomes a master. */
  readonly boot: string;
  readonly version: string;
  /** `master`, or `slave` for a replica. */
  readonly role: string;
  /** Equal for a master and its replicas. */
  readonly replication: string;
  readonly cluster: boolean;
  /** True if keys are removed when the memory is full. */
  readonly evicts: boolean;
  /** When the marker was set or decided, by the server's clock; `undefined` without one. */
  readonly markedAt: Micros | undefined;
  /** The time of the quorum from which it votes; `undefined` while not decided. */
  readonly votesFrom: Micros | undefined;
  /** It has been running for at least so many ms. */
  readonly uptime: number;
  /** The time of the quorum until which it keeps records that are not long; 0: it has none. */
  readonly keeps: Micros;
  /** The long records, also those that it has lost and knows of. */
  readonly long: readonly LongRecord[];
  readonly mark: number;
}

export interface Acceptor {
  readonly label: string;
  /** Promises to accept no smaller ballot, and answers with the last accepted value. */
  prepare(key: string, ballot: string, now: Micros, asker?: Asker): Promise<Vote>;
  /** Answers with the last accepted value. Writes nothing. */
  look(key: string, now: Micros): Promise<Vote>;
  accept(key: string, proposal: Proposal): Promise<Vote>;
  /** Compares the marker with the boot, and sets it if the terms decide that. */
  check(terms: GuardTerms): Promise<ServerStatus>;
  /** Takes the commands left for the owner of the promise, if it has this channel. */
  collect(key: string, channel: string): Promise<string>;
  subscribe(channel: string, listener: MessageListener): Promise<{ close(): Promise<void> }>;
  /** The keys of a prefix with a record. */
  keys(prefix: string, within: TimeLimit): AsyncIterable<string>;
}
