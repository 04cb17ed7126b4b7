/**
 * The acceptor port: one server of a quorum. It keeps a promise and an accepted value for each key,
 * and decides alone; `quorum-register.ts` says what several of them guarantee.
 *
 * A server that may have forgotten its votes does not vote. Its marker names its boot:
 *
 *     foreign --check--> undecided --decision--> guarded --the time has come--> voting
 *        ^-------------------------- restart, promotion, loss of the keys ---------/
 *
 * Each vote compares the marker with the boot in the same step, so an older snapshot, or the data
 * of another server, gives no votes. A `partial` one accepts no long records.
 */
import type { Micros } from '../../engine/commands.js';
import type { TimeLimit } from '../port.js';
import type { Message, MessageListener } from '../register/register.js';

/** How long a promise is kept at least, in ms: much longer than a request is on its way. */
export const PROMISE_MS = 60_000;

/**
 * Records kept for longer than this, in ms, are noted by key: a server without memory waits that
 * long for these keys only.
 */
export const LONG_MS = 180_000;
/** More such keys count for all keys. */
export const LONG_MAX = 1000;

export interface Accepted {
  readonly ballot: string;
  readonly value: string;
}

export interface Promised extends Accepted {
  /** No accepted value of any key has a greater fence. */
  readonly mark: number;
  /** Commands left for the process that asks; the server then forgets them. */
  readonly left: string;
  /** Channels of the messages to which no client was subscribed. */
  readonly deaf?: readonly string[] | undefined;
}

export interface Asker {
  /** See `ownerText`; `''` if it does not listen; or `UNUSED`. */
  readonly owner: string;
  /**
   * A promise to another process stays if its ballot is younger than this, in µs; a tenth of it if
   * that process does not listen; 0: none stays. One from the future (clocks were set back) does
   * not stay.
   */
  readonly yields: Micros;
  /**
   * Commands for the owner of a promise that stays, one a line; see `quorum-peers.ts`. Only one
   * server gets them.
   */
  readonly left?: string | undefined;
}

export const LEFT_MAX: number = 1024 * 1024;
/** A script can return so many at once. */
export const TEXTS_MAX = 4000;

export const ownerText = (secret: string, channel: string): string => `${secret} ${channel}`;

/** The owner of a promise that will probably not be used soon; it does not stay. */
export const UNUSED = '-';

/** How long a command may be left, in µs. */
export const LEAVE: Micros = 1_500_000;
/** The next owner collects commands at once if the first was left so long ago, in µs. */
const OLD: Micros = 20_000;
export const OLD_UNTIL: Micros = LEAVE - OLD;

export function isOld(left: string, now: Micros): boolean {
  return Number(/^\["[^"]*",(\d+)/.exec(left)?.[1] ?? 0) < now + OLD_UNTIL;
}

/** Tells an owner that a server keeps commands for it. `proof` shows its secret. */
export const leftText = (proof: string, key: string, old: boolean): string =>
  `>${old ? '!' : ''}${proof} ${key}`;

export const URGENT: Asker = { owner: '', yields: 0 };

export const yieldsTo = (yields: Micros, owner: string): Micros =>
  owner === '' ? yields / 10 : yields;

export interface Proposal {
  readonly ballot: string;
  /** The time of the quorum or earlier. */
  readonly now: Micros;
  /** A greater ballot of the same proposer, promised with the acceptance. */
  readonly next: string;
  readonly owner?: string | undefined;
  readonly value: string;
  /** In ms. */
  readonly keep: number;
  readonly fence: number;
  /** The state is longer, and not by renewed times only: a full server may refuse it. */
  readonly grows: boolean;
  /** Published with the value's ballot before the text, if the value is accepted. */
  readonly messages: readonly Message[];
  /** Published with the value after the text: the process that listens there gets `next`. */
  readonly handOver?: Message | undefined;
}

/**
 * The answer to a request, with the clock of the server:
 *
 * - `yes`: promised, with the value accepted before; or accepted.
 * - `no`: another promise stays. `kept`: the server keeps the left commands.
 * - `guarded`: it may have forgotten votes; it votes from `until` on (time of the quorum).
 * - `unmarked`: it needs a new marker by `check`.
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

export type LongRecord = readonly [key: string, until: Micros];

export interface Decision {
  /** A request repeated after the next restart must not count for that boot. */
  readonly boot: string;
  readonly from: Micros;
  readonly long: readonly LongRecord[];
  readonly mark: number;
  readonly partial: boolean;
}

export interface GuardTerms {
  /** A restart loses no vote: the server votes at once. */
  readonly durable: boolean;
  readonly decision?: Decision | undefined;
  readonly long?: boolean | undefined;
}

export interface ServerStatus {
  readonly time: Micros;
  readonly runId: string;
  readonly boot: string;
  readonly version: string;
  readonly role: string;
  /** Equal for a master and its replicas. */
  readonly replication: string;
  readonly cluster: boolean;
  /** The server removes keys when its memory is full. */
  readonly evicts: boolean;
  /** The time by the server's clock; `undefined` without a marker. */
  readonly markedAt: Micros | undefined;
  /** `undefined` while not decided. */
  readonly votesFrom: Micros | undefined;
  readonly partial: boolean;
  /** In ms, or a little less. */
  readonly uptime: number;
  /** Until when it keeps records that are not long; 0: it has none. */
  readonly keeps: Micros;
  /** Includes those that it has lost and knows of. */
  readonly long: readonly LongRecord[];
  readonly mark: number;
}

export interface Acceptor {
  readonly label: string;
  /** A server with another boot does not vote. */
  boot?: string;
  /** As `ClientPort.connection`; without it, unknown. */
  connection?(): unknown;
  /** Promises to accept no smaller ballot; answers with the accepted value. */
  prepare(key: string, ballot: string, now: Micros, asker?: Asker): Promise<Vote>;
  /** Answers with the accepted value; writes nothing. */
  look(key: string, now: Micros): Promise<Vote>;
  accept(key: string, proposal: Proposal): Promise<Vote>;
  /** Compares the marker with the boot, and sets it as decided. */
  check(terms: GuardTerms): Promise<ServerStatus>;
  /** Takes the commands left for the owner of the promise, if this is its channel. */
  collect(key: string, channel: string): Promise<string>;
  subscribe(channel: string, listener: MessageListener): Promise<{ close(): Promise<void> }>;
  keys(prefix: string, within: TimeLimit): AsyncIterable<string>;
}
