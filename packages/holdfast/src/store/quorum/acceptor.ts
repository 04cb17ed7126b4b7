/**
 * The acceptor port: one server of a quorum. It keeps a promise and an accepted value for each key,
 * and decides alone; see `quorum-register.ts` for what several of them guarantee.
 *
 * A server that may have forgotten its votes does not vote. It keeps a marker that names its boot:
 *
 *     foreign --check--> undecided --decision--> guarded --the time has come--> voting
 *        ^-------------------------- restart, promotion, loss of the keys ---------/
 *
 * Each vote compares the marker with the boot, so no vote depends on an earlier check. A check that
 * finds a difference overwrites the marker in the same step. So what an older snapshot says about
 * votes counts for nothing.
 */
import type { Micros } from '../../engine/commands.js';
import type { TimeLimit } from '../port.js';
import type { Message, MessageListener } from '../register/register.js';

/** For how many ms a server keeps a promise at least: much longer than a request is on its way. */
export const PROMISE_MS = 60_000;

/**
 * A server notes each key whose record it must keep for longer than this, in ms, so that a server
 * which has lost its memory waits that long for these keys only.
 */
export const LONG_MS = 180_000;
/** The most such keys that a server names. If it has more, they count for all keys. */
export const LONG_MAX = 1000;

/** The promised ballot and the accepted value of a key. */
export interface Accepted {
  /** The ballot of the value, `''` if there is none. */
  readonly ballot: string;
  readonly value: string;
}

/** What was accepted, and what the server knows of all keys. */
export interface Promised extends Accepted {
  /** No value that the server accepted, for any key, has a fence above this. */
  readonly mark: number;
  /** The commands that were left for the process that asks. They are not kept any longer. */
  readonly left: string;
}

/** The process that asks for a promise. */
export interface Asker {
  /** Its secret and its channel, see `ownerText`; `''` if it does not listen; or `UNUSED`. */
  readonly owner: string;
  /**
   * A promise that another process will use stays if it is younger than this, in µs. Its age is
   * that of its ballot; one from the future, before the clocks were set back, does not stay. A
   * tenth of this counts if that process does not listen. 0: no promise stays.
   */
  readonly yields: Micros;
  /**
   * Commands that the server keeps for the owner of that promise if it stays, one a line; see
   * `quorum-peers.ts`. Only one server gets them.
   */
  readonly left?: string | undefined;
}

/** The most characters of the commands that a server keeps for a key. */
export const LEFT_MAX: number = 1024 * 1024;

/** The name of a process at the servers. */
export const ownerText = (secret: string, channel: string): string => `${secret} ${channel}`;

/** The owner of a promise that no process will probably use soon. Such a promise does not stay. */
export const UNUSED = '-';

/** What tells an owner that a server keeps commands for it. The proof shows its secret. */
export const leftText = (proof: string, key: string): string => `>${proof} ${key}`;

/** An asker that lets no promise stay. */
export const URGENT: Asker = { owner: '', yields: 0 };

/** For how long a promise stays, if it belongs to `owner`. */
export const yieldsTo = (yields: Micros, owner: string): Micros =>
  owner === '' ? yields / 10 : yields;

/** A value that shall be accepted. */
export interface Proposal {
  readonly ballot: string;
  /** The time of the quorum, not later than it is; a server that is guarded goes by it. */
  readonly now: Micros;
  /** A greater ballot of the same proposer, which the acceptor promises with the acceptance. */
  readonly next: string;
  /** The process that will use `next`, as in `Asker`. */
  readonly owner?: string | undefined;
  readonly value: string;
  /** For how many ms the server keeps the record. */
  readonly keep: number;
  /** The greatest fence of the value. */
  readonly fence: number;
  /** True if the state of the key becomes longer, so a server with full memory may refuse it. */
  readonly grows: boolean;
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
 * - `no`: another ballot was promised, and stays. `kept`: the server keeps the left commands.
 * - `guarded`: the server may have forgotten votes, and votes again from `until` on, by the clock
 *   of the quorum.
 * - `unmarked`: the server has no marker, or a new one is needed; `check` is the next step.
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

/** From when on a server votes that has no memory, and what it must know then. */
export interface Decision {
  /**
   * The boot for which it was decided. A client may send a request again when the server is back
   * after a restart, and a decision must not count for the new boot.
   */
  readonly boot: string;
  /** The time of the quorum from which it votes. */
  readonly from: Micros;
  /** The keys for which it votes later. */
  readonly long: readonly LongRecord[];
  readonly mark: number;
}

/** What `check` decides about a server with the marker of another boot, or without one. */
export interface GuardTerms {
  /** True if a restart loses no vote, so the server votes at once. */
  readonly durable: boolean;
  readonly decision?: Decision | undefined;
  /** True if the answer names the long records. */
  readonly long?: boolean | undefined;
}

/** What a server tells about itself. */
export interface ServerStatus {
  readonly time: Micros;
  /** Identifies one boot of one server. */
  readonly runId: string;
  /** Changes with each restart of a server, and when a replica becomes a master. */
  readonly boot: string;
  readonly version: string;
  /** `master`, or `slave` for a replica. */
  readonly role: string;
  /** Equal for a master and its replicas. */
  readonly replication: string;
  readonly cluster: boolean;
  /** True if the server removes keys when its memory is full. */
  readonly evicts: boolean;
  /** When the marker was set or decided, by the clock of the server; `undefined` without one. */
  readonly markedAt: Micros | undefined;
  /** The time of the quorum from which it votes; `undefined` while that is not decided. */
  readonly votesFrom: Micros | undefined;
  /** It has been running for at least so many ms. */
  readonly uptime: number;
  /** The time of the quorum until which it keeps records that are not long; 0: it has none. */
  readonly keeps: Micros;
  /** The long records, also those that it does not have and that it knows of. */
  readonly long: readonly LongRecord[];
  readonly mark: number;
}

export interface Acceptor {
  /** The kind of client, for messages. */
  readonly label: string;
  /** Promises to accept no smaller ballot, and answers with the value accepted last. */
  prepare(key: string, ballot: string, now: Micros, asker?: Asker): Promise<Vote>;
  /** Answers with the value accepted last. Promises and writes nothing. */
  look(key: string, now: Micros): Promise<Vote>;
  /** Accepts a value, unless a greater ballot was promised. */
  accept(key: string, proposal: Proposal): Promise<Vote>;
  /** Compares the marker with the boot of the server, and sets it if the terms decide that. */
  check(terms: GuardTerms): Promise<ServerStatus>;
  /** Takes the commands that were left for the owner of the promise, if it has this channel. */
  collect(key: string, channel: string): Promise<string>;
  subscribe(channel: string, listener: MessageListener): Promise<{ close(): Promise<void> }>;
  /** The keys with a record whose name starts with a prefix. */
  keys(prefix: string, within: TimeLimit): AsyncIterable<string>;
}
