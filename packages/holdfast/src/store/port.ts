/**
 * The store port: the environment of the engine. Memory, one deployment of servers, a quorum, or a
 * register.
 *
 * A store executes commands and delivers pushes. It does not wait, renew or retry. The commands of
 * one turn of the event loop are one batch.
 */
import { cleanCause } from '../base/clean-cause.js';
import type { Command, Push, Reply } from '../engine/commands.js';
import { printable } from '../base/text.js';
import type { Examination, ExamineTerms } from './finding.js';
import type { ServerInfo } from './server-info.js';

/** No method may throw. */
export interface WakeListener {
  push(push: Push): void;
  /** Earlier pushes may be lost. */
  up(): void;
  down(): void;
  /** Aborts when the channel is closed, also while it is opening. */
  readonly ended?: AbortSignal | undefined;
}

export interface EchoAnswer {
  /** False if the server knows no receiver. Rejects if it was not published. */
  readonly published: Promise<boolean>;
  /** Pending if the message is lost. */
  readonly arrived: Promise<true>;
}

export interface WakeChannel {
  /** Commands carry it to receive pushes. */
  readonly name: string;
  /**
   * Publishes a message to this channel.
   * @param key the key whose node publishes it; default: all nodes
   */
  echo?(key?: string): EchoAnswer;
  close(): Promise<void>;
}

/** One of the two is called, once. Neither throws. */
export interface Outcome {
  /** @param isSame the connection is that of the request, so it was sent once */
  replied(reply: Reply, isSame: boolean): void;
  erred(error: unknown): void;
}

/** A question changes nothing. */
export interface StoreTells {
  /**
   * The part of the store that keeps a key, if parts fail separately. Leases of different parts are
   * renewed with different commands.
   */
  readonly shardOf?: ((key: string) => string) | undefined;

  /**
   * While it is the same, each command given since reaches the store at most once, and in order; a
   * client that opens a new one may repeat commands. `undefined` if unknown, as on a cluster: while
   * a slot moves, requests of a key go to two nodes.
   */
  connection?(): unknown;

  /** Why the store may not answer now; `undefined` if unknown. */
  trouble?(): string | undefined;

  /** Servers of a quorum; `undefined`: none. */
  wrongClocks?(): string | undefined;

  servers?(): readonly ServerInfo[] | undefined;

  /** The program's command that blocks the client, if known. */
  blockedBy?(): string | undefined;

  examine?(terms: ExamineTerms): Promise<Examination>;
}

export interface StoreOffers {
  /** Commands are written in a later turn than that of `execute`. */
  readonly writesLater?: boolean;

  /**
   * Commands cost less together. With many open requests, those of a turn are then sent at its end.
   */
  readonly joins?: boolean;

  /**
   * Resolves when the commands so far are on their way, and take effect even if the process blocks.
   * For stores whose commands take several round trips.
   */
  written?(): Promise<void>;

  /** False if the command has to go through `execute`. */
  post?(command: Command, to: Outcome): boolean;

  /**
   * The store of a prefix, if this object serves several. Instances with different prefixes share
   * no locks. The object itself serves the default prefix.
   */
  space?(prefix: string): Store;

  /**
   * This store with grants that count only when a number of replicas has them. `dispose` ends its
   * connections. `undefined` if the client cannot open them.
   */
  acknowledged?(terms: AcknowledgeTerms): Store | undefined;

  /**
   * A request was not answered in time; the store may look for another node. Resolves to a
   * warning's text if a connection has died silently. Never rejects.
   */
  unanswered?(command?: Command): Promise<string | undefined> | undefined;

  /** An instance uses this store until its `dispose`. */
  use?(): void;

  dispose?(): Promise<void>;
}

export interface Store extends StoreTells, StoreOffers {
  /** The name for messages: `memory`, `ioredis`, `node-redis`. */
  readonly label: string;

  /**
   * Executes the commands on each key in order. Each promise settles independently, or never: the
   * caller sets the deadline. Rejects with a `StoreFailure`.
   */
  execute(batch: readonly Command[]): Promise<Reply>[];

  /** Resolves when pushes arrive on this process' wake channel. */
  listen(name: string, listener: WakeListener): Promise<WakeChannel>;

  /**
   * Keys of known resources; one may be listed twice, or after its resource is gone. A store may
   * omit keys that do not match the glob pattern; `matchingKeys` compares the rest.
   */
  keys(pattern: string, within: TimeLimit): AsyncIterable<string>;
}

export interface AcknowledgeTerms {
  readonly replicas: number;
  /**
   * How old a master's memory must be before a grant counts, in ms. 0: any age. `undefined`: the
   * grant's ttl.
   */
  readonly restartGuard: number | undefined;
  /** In ms. */
  readonly requestTimeout: number;
}

/** Rejects with a `StoreFailure` without an answer in time. */
export type TimeLimit = <T>(answer: Promise<T>) => Promise<T>;

/** In the reply to `renewMany`: an error of this lease. */
export const FAILED = -1;
/** In the reply to `renewMany`: no reply for this lease, which may be extended. */
export const UNANSWERED = -2;

/**
 * Only the store knows which of its errors is which:
 *
 * - `unanswered`: not sent, or no reply came. It may have been executed.
 * - `closed`: no reply until the program connects the client again. A command sent before may have
 *   been executed.
 * - `transient`: refused for now; the same command may succeed later.
 * - `refused`: refused, as each repetition will be.
 * - `unacknowledged`: too few replicas have the grant. The caller must release it.
 */
export type FailureKind = 'unanswered' | 'closed' | 'transient' | 'refused' | 'unacknowledged';

/**
 * Why a command has no reply. Its cause is a copy without the data that clients attach to errors.
 */
export class StoreFailure extends Error {
  readonly kind: FailureKind;
  /** Certain: no copy of the command changed the store, or will. */
  declare readonly unchanged?: true;

  constructor(message: string, kind: FailureKind, cause: unknown) {
    super(printable(message), { cause: cleanCause(cause) });
    this.name = 'StoreFailure';
    this.kind = kind;
  }

  /** The server replied with an error: the command was not executed. */
  get answered(): boolean {
    return this.kind === 'transient' || this.kind === 'refused';
  }
}

export function isRefusal(error: unknown): error is StoreFailure {
  return error instanceof StoreFailure && /^(refused|unacknowledged)$/.test(error.kind);
}

export function isClosed(error: unknown): error is StoreFailure {
  return error instanceof StoreFailure && error.kind === 'closed';
}

/** A key's record was damaged, or written by something else than this library. */
export class UnreadableRecord extends StoreFailure {
  constructor(message: string, cause: unknown) {
    super(message, 'refused', cause);
    this.name = 'UnreadableRecord';
  }
}

/** The client gave a command another one's reply, so nothing is known of it. */
export class OutOfStep extends StoreFailure {
  constructor(client: string) {
    super(
      `the client is out of step: ${client} gave this command the reply to another one. All of ` +
        'its replies may be wrong until its connection ends, also those to the program itself',
      'unanswered',
      undefined,
    );
    this.name = 'OutOfStep';
  }
}
