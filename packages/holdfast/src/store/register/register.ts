/**
 * The register port: a small text for each key, which a client replaces if no other client did so
 * in the meantime. Every lock, queue and gate runs on it, see `register-store.ts`.
 *
 * A register is one of many places: a table of a database, a consensus protocol over several
 * servers, a map in memory. This file knows none of them.
 */
import type { Micros } from '../../engine/commands.js';
import type { TimeLimit } from '../port.js';

/** A state, its version, and the time at which it was read. */
export interface Versioned {
  /** The text of the last successful swap; `''` if there was none, or if it was forgotten. */
  readonly state: string;
  /** Changes with every successful swap. Only the register reads it. */
  readonly version: string;
  /** The clock of the register, read while the call ran. It may be set back between calls. */
  readonly time: Micros;
  /**
   * The clock was not ahead of this when the call began. Without this field, `time` was exact. A
   * register with several clocks knows only bounds: `time` is the lower one.
   */
  readonly latest?: Micros | undefined;
  /**
   * False if the state is not final until a swap succeeds: an interrupted swap of another process
   * made it. A command that changes nothing then swaps the same state.
   */
  readonly settled?: boolean | undefined;
  /** Every fence of a state that starts anew must be greater than this, whatever the clocks say. */
  readonly floor?: number | undefined;
}

/** A message that a successful swap sends. It may be lost. */
export interface Message {
  readonly channel: string;
  readonly text: string;
}

/** The change that a swap makes. */
export interface Change {
  readonly state: string;
  /** From this time on, the register may forget the state. */
  readonly forgetAt: Micros;
  /** The greatest fence of the state. */
  readonly fence: number;
  readonly messages: readonly Message[];
  /** Like `messages`, but never sent again. A process that gets none asks by itself. */
  readonly answers?: readonly Message[] | undefined;
  /**
   * The channel of the process that will probably change the key next. A register with `peers` may
   * hand the new version over to it.
   */
  readonly successor?: string | undefined;
}

/** Another process that a command was left to: its channel, and what it needs to answer. */
export interface Errand {
  readonly from: string;
  /** Identifies the command at its sender. */
  readonly number: string;
  /** The command must not be applied at a later time. */
  readonly until: Micros;
}

/** How processes that use the same key help each other. All of it may be lost. */
export interface Peers {
  /** Receives versions that were handed over, and commands that were left to this process. */
  listener: PeerListener | undefined;
  /** The channel of the process to which the version of a key was handed over a moment ago. */
  ownerOf(key: string): string | undefined;
  /**
   * Leaves a command to the owner of the version. Resolves to its answer, or to `undefined` if the
   * command was declined, or if there is no answer; it will not be applied any more.
   */
  leave(owner: string, key: string, command: string): Promise<string | undefined>;
  /** Returns a command that was left here, because this process does not own the version. */
  decline(errand: Errand): void;
  /** The message that answers a command that was left here. */
  answerTo(errand: Errand, reply: string): Message;
  /** The clock of the register is not ahead of this. */
  latest(): Micros;
}

export interface PeerListener {
  /** The next swap needs no read. */
  handedOver(key: string, state: Versioned): void;
  asked(key: string, command: string, errand: Errand): void;
}

/**
 * The result of a swap; `false` if the version was not the current one. The version is `''` if the
 * next swap needs a read.
 */
export type Swapped = Pick<Versioned, 'version' | 'time' | 'latest'> | false;

/** Receives messages. No method may throw. */
export interface MessageListener {
  message(text: string): void;
  /** Messages arrive from now on. Earlier ones may have been lost. */
  up(): void;
  /** Messages do not arrive until `up`. */
  down(): void;
}

/**
 * Calls of one key are linearizable: each takes effect at one point in time between its call and
 * its answer. A rejected `swap` may have taken effect, or may still take effect later.
 */
export interface Register {
  /** The kind of register, for messages. */
  readonly label: string;
  /** Set if processes can leave commands to each other. */
  readonly peers?: Peers | undefined;

  /** The state of a key. Its text includes every swap that was answered before the call. */
  read(key: string): Promise<Versioned>;

  /**
   * The state of a key, without a version: for commands that change nothing. Set if that costs less
   * than `read`. It writes nothing.
   */
  look?(key: string): Promise<Versioned>;

  /**
   * Replaces the state of a key if its version is still `version`. A version is used for one call
   * only, whatever its outcome.
   */
  swap(key: string, version: string, change: Change): Promise<Swapped>;

  /** Receives the messages of a channel. Resolves when they arrive. */
  listen(channel: string, listener: MessageListener): Promise<{ close(): Promise<void> }>;

  /** The keys with a prefix that have a state, and perhaps others. A key may be listed twice. */
  keys(prefix: string, within: TimeLimit): AsyncIterable<string>;
}
