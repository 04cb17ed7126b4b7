/**
 * The register port: a small text for each key, which a client replaces if no other client did so
 * meanwhile. Every lock, queue and gate runs on it, see `register-store.ts`.
 */
import type { Finding } from '../finding.js';
import type { TimeLimit } from '../port.js';

/** A state, its version, and the time of the read. */
export interface Versioned {
  /** The text of the last successful swap; `''` if there was none, or it was forgotten. */
  readonly state: string;
  /**
   * Changes with every successful swap, and never comes back, also not after the state was
   * forgotten or deleted. A key without a state may always have the same version. Not empty. Only
   * the register reads it.
   */
  readonly version: string;
  /**
   * The register's clock in microseconds since 1970, a whole number, read while the call ran. All
   * processes see the same clock. It may be set back between calls; leases then last longer.
   */
  readonly time: number;
  /**
   * The clock was not ahead of this when the call began. Default: `time` was exact. A register that
   * knows only bounds of its clock gives the lower one as `time`.
   */
  readonly latest?: number | undefined;
  /**
   * A swap of this version that grants was held back, see `Change.grants`. The key then counts as
   * held for a while, so others wait in its queue.
   */
  readonly heldBack?: boolean | undefined;
}

/** A message that a successful swap sends. It may be lost. */
export interface Message {
  readonly channel: string;
  readonly text: string;
}

/** What a swap changes. */
export interface Change {
  /** The new text; `''`: no state any more. */
  readonly state: string;
  /**
   * By the register's clock, in microseconds since 1970. From then on, and not before, the register
   * may forget the state, and `read` may return `''`.
   */
  readonly forgetAt: number;
  /**
   * False if the change makes no grant. A register may hold back one that does, while something
   * besides the present holder's lease must end first. It then answers `false`.
   */
  readonly grants?: boolean | undefined;
  readonly messages: readonly Message[];
  /** The channel of the process to which a message grants the lock. */
  readonly nextChannel?: string | undefined;
}

/** One swap of several, see {@link Register.swapMany}. */
export interface Swap {
  readonly key: string;
  readonly version: string;
  readonly change: Change;
}

/**
 * `false` if the version was not the current one. The version is that of the new state; `''` if
 * unknown, so the next swap needs a read.
 */
export type Swapped = Pick<Versioned, 'version' | 'time' | 'latest'> | false;

/** It may be out of date. */
export type HandedOver = Pick<Versioned, 'state' | 'version'>;

/** No method throws. */
export interface MessageListener {
  message(text: string): void;
  /** Messages arrive from now on. Earlier ones may be lost. */
  up(): void;
  /** Messages do not arrive until `up`. */
  down(): void;
}

/** A key that `scan` found. */
export interface Scanned {
  readonly key: string;
  /** As `read` returns it. Without it, the state is read when needed. */
  readonly found?: Versioned | undefined;
}

/**
 * A store of small texts, one for each key. Keys, texts and channels are well-formed Unicode
 * without U+0000. Keys and channels have up to 1,300 bytes in UTF-8.
 *
 * Calls of one key are linearizable: each takes effect at one point in time between its call and
 * its answer. A call without an answer should be rejected after a time: later calls of its key wait
 * for it, at most for the `timeout` of the store. A rejected `swap` may have taken effect, or may
 * still take effect later, unless the error is a `RegisterError` that says otherwise. A register
 * repeats no swap.
 */
export interface Register {
  /** The name for messages, such as `PostgreSQL (LISTEN)`. */
  readonly label: string;

  /**
   * The most characters of a state. A call that would make it longer is refused; releases and
   * renewals never are, so the register must take some more. 1,024 or more; default 262,144, which
   * about 2,000 waiters of a key need.
   */
  readonly stateMax?: number | undefined;

  /** Its text includes every swap that was answered before the call. */
  read(key: string): Promise<Versioned>;

  /**
   * Replaces the state of a key if its version is still `version`, which a `read` or a `swap`
   * returned. Sends the messages if it succeeds, and only then. A version is used for one call.
   */
  swap(key: string, version: string, change: Change): Promise<Swapped>;

  /**
   * Receives the messages of a channel. Resolves when they arrive, and calls `up`. Reconnects by
   * itself, between `down` and `up`. Without this method, waiting processes read the states of
   * their keys again and again.
   */
  listen?(channel: string, listener: MessageListener): Promise<{ close(): Promise<void> }>;

  /**
   * The keys with a prefix that have a state, and perhaps others; one may be listed twice. Each
   * answer of the server, for example a page, is awaited with `within`.
   */
  scan(prefix: string, within: TimeLimit): AsyncIterable<Scanned>;

  /** The states in the order of the keys. */
  readMany?(keys: readonly string[]): Promise<readonly Versioned[]>;

  /**
   * Several swaps of different keys, each independent: one may lose, and others win. The results
   * come in their order. An error is that of all: `refused` means that none took effect, and each
   * is then tried alone. A register that sends calls of `swap` together by itself needs neither
   * this nor `readMany`.
   */
  swapMany?(swaps: readonly Swap[]): Promise<readonly Swapped[]>;

  /**
   * As `read`, and gives the state a new version, so every swap of an earlier one loses. A process
   * calls it after it lost several races in a row: its next swap probably wins. It only reads if
   * there is no state, or if the present version is that of another `overtake`: a swap comes
   * between two of them.
   */
  overtake?(key: string): Promise<Versioned>;

  /**
   * Until the returned function is called, receives states that came with messages to
   * `Change.nextChannel`, which then needs no read. Each must be proven to be that of its version.
   */
  handsOver?(receive: (key: string, state: HandedOver) => void): () => void;

  /**
   * For each channel, false if certainly no process listens on it. The waiters of dead processes
   * are then skipped. Without this method, they are found by their silence.
   */
  alive?(channels: readonly string[]): Promise<readonly boolean[]>;

  /** What endangers locks on this register, for `Holdfast.doctor`. */
  examine?(): Promise<readonly Finding[]>;

  /** Why the register may not answer now; `undefined` if unknown. */
  trouble?(): string | undefined;

  /**
   * Ends the connections that the register opened. Called when the last `Holdfast` on it has
   * closed. A later call of another method opens them again.
   */
  close?(): Promise<void>;
}
