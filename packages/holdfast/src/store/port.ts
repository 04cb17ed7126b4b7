/**
 * The store port: something the engine runs in. Memory, one Redis deployment, later a quorum of
 * them.
 *
 * A store executes commands and delivers pushes; it neither waits, nor renews, nor retries. What
 * one turn of the event loop collected comes as one batch.
 */
import { cleanCause } from '../clean-cause.js';
import type { Command, Push, Reply } from '../engine/commands.js';
import { printable } from '../text.js';

/** Somebody in this process who is told of pushes. No method may throw. */
export interface WakeListener {
  push(push: Push): void;
  /** Pushes arrive (again). Some may have been lost before. */
  up(): void;
  /** Pushes do not arrive until `up`. */
  down(): void;
}

/** A channel on which pushes arrive. */
export interface WakeChannel {
  /** What a command names to be pushed to. */
  readonly name: string;
  close(): Promise<void>;
}

export interface Store {
  /** Where the store is, for messages: `memory`, `ioredis`, `node-redis`. */
  readonly label: string;

  /** True if commands are written in a later turn of the event loop than `execute` is called in. */
  readonly writesLater?: boolean;

  /**
   * Executes commands in order. One promise for each; each settles by itself, or never: the caller
   * has the deadline. Rejects with a `StoreFailure`.
   */
  execute(batch: readonly Command[]): Promise<Reply>[];

  /** Opens the one channel on which this process is woken. Resolves when pushes arrive. */
  listen(name: string, listener: WakeListener): Promise<WakeChannel>;

  /**
   * Keys of known resources that match a glob pattern. A key may come twice, or come when it is
   * gone.
   */
  keys(pattern: string): AsyncIterable<string>;
}

/** Why a store could not answer. Its cause is a copy, without what a client keeps there. */
export class StoreFailure extends Error {
  /**
   * True if the store answered, and the answer was an error. False: it could not be asked, or did
   * not answer.
   */
  readonly answered: boolean;
  constructor(message: string, answered: boolean, cause: unknown) {
    super(printable(message), { cause: cleanCause(cause) });
    this.name = 'StoreFailure';
    this.answered = answered;
  }
}
