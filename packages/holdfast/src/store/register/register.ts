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
  readonly messages: readonly Message[];
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

  /** The state of a key. Its text includes every swap that was answered before the call. */
  read(key: string): Promise<Versioned>;

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
