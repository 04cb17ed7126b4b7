/**
 * The acceptor port: one server of a quorum. It keeps a promise and an accepted value for each key,
 * and decides alone; see `quorum-register.ts` for what several of them guarantee.
 *
 * A server that may have forgotten its votes does not vote. It keeps a marker that names its boot.
 * `check` compares the marker with the boot, and sets it.
 */
import type { Micros } from '../../engine/commands.js';
import type { TimeLimit } from '../port.js';
import type { Message, MessageListener } from '../register/register.js';

/** For how many ms a server keeps a promise at least: much longer than a request is on its way. */
export const PROMISE_MS = 60_000;

/** The promised ballot and the accepted value of a key. */
export interface Accepted {
  /** The ballot of the value, `''` if there is none. */
  readonly ballot: string;
  readonly value: string;
}

/** A value that shall be accepted. */
export interface Proposal {
  readonly ballot: string;
  /** The time of the quorum, not later than it is; a server that is guarded goes by it. */
  readonly now: Micros;
  /** A greater ballot of the same proposer, which the acceptor promises with the acceptance. */
  readonly next: string;
  readonly value: string;
  /** For how many ms the server keeps the record. */
  readonly keep: number;
  /** Published with the ballot before the text, if the value is accepted. */
  readonly messages: readonly Message[];
  /**
   * Published like a message, with the value after the text, if it is set: the process that
   * listens there gets `next`, and the proposer does not use it.
   */
  readonly handOver?: Message | undefined;
}

/**
 * The answer to a request, with the clock of the server:
 *
 * - `yes`: promised, with the value accepted before; or accepted.
 * - `no`: another ballot was promised.
 * - `guarded`: the server may have forgotten votes, and votes again from `until` on, by the clock
 *   of the quorum.
 * - `unmarked`: the server has no marker, or a new one is needed; `check` is the next step.
 */
export type Vote =
  | ({ readonly status: 'yes'; readonly time: Micros } & Accepted)
  | { readonly status: 'no'; readonly time: Micros; readonly promised: string }
  | { readonly status: 'guarded'; readonly time: Micros; readonly until: Micros }
  | { readonly status: 'unmarked' };

/** How a server without a marker of its boot is treated. */
export interface GuardTerms {
  /** True if a restart loses no vote, so the server votes at once. */
  readonly durable: boolean;
  /**
   * The time of the quorum from which it votes; 0: at once. `undefined` leaves it without a marker,
   * so without votes.
   */
  readonly from?: Micros | undefined;
  /**
   * The boot for which `from` was decided. A client may send a request again when the server is
   * back after a restart, and `from` must not count for the new boot.
   */
  readonly runId?: string | undefined;
}

/** What a server tells about itself. */
export interface ServerStatus {
  readonly time: Micros;
  /** Identifies one boot of one server. */
  readonly runId: string;
  readonly version: string;
  /** `master`, or `slave` for a replica. */
  readonly role: string;
  /** Equal for a master and its replicas. */
  readonly replication: string;
  readonly cluster: boolean;
  /** True if the server removes keys when its memory is full. */
  readonly evicts: boolean;
  /** The time at which the marker was set; `undefined` without a marker. */
  readonly markedAt: Micros | undefined;
  /** The time of the quorum from which it votes; `undefined` without a marker. */
  readonly votesFrom: Micros | undefined;
  /** For how many ms it has been running. */
  readonly uptime: number;
  /** For how many ms it keeps records that it accepted, at most. */
  readonly keeps: number;
}

export interface Acceptor {
  /** The kind of client, for messages. */
  readonly label: string;
  /** Promises to accept no smaller ballot, and answers with the value accepted last. */
  prepare(key: string, ballot: string, now: Micros): Promise<Vote>;
  /** Accepts a value, unless a greater ballot was promised. */
  accept(key: string, proposal: Proposal): Promise<Vote>;
  /** Compares the marker with the boot of the server, and sets it if the terms decide that. */
  check(terms: GuardTerms): Promise<ServerStatus>;
  /** Publishes a message at once. */
  tell(message: Message): Promise<unknown>;
  subscribe(channel: string, listener: MessageListener): Promise<{ close(): Promise<void> }>;
  /** The keys with a record whose name starts with a prefix. */
  keys(prefix: string, within: TimeLimit): AsyncIterable<string>;
}
