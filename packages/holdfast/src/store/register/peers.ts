/** What a register can do beyond the port: processes that use the same key help each other. */
import type { Micros } from '../../engine/commands.js';
import type { Change, Message, Register, Swapped, Versioned } from './register.js';

/** `deaf`: channels on which no process heard it. */
export type PeerSwapped =
  | (Exclude<Swapped, false> & { readonly deaf?: readonly string[] | undefined })
  | false;

export interface PeerVersioned extends Versioned {
  /**
   * False if the state is not final until a swap succeeds: an interrupted swap of another process
   * made it. A command that changes nothing then swaps the same state.
   */
  readonly settled?: boolean | undefined;
  /** Every fence of a new state must be greater, whatever the clocks say. */
  readonly floor?: number | undefined;
  /** See `Taken.inDoubt`. */
  readonly inDoubt?: boolean | undefined;
}

export interface PeerChange extends Change {
  readonly fence: number;
  readonly renews?: boolean | undefined;
  /** Like `messages`, but never sent again. A process that gets none asks by itself. */
  readonly answers?: readonly Message[] | undefined;
  /**
   * The process that will probably change the key next. A register with `peers` may hand the new
   * version over to it.
   */
  readonly successor?: Successor | undefined;
  /** The key is free: no process will probably change it soon. */
  readonly rests?: boolean | undefined;
}

export interface Successor {
  readonly channel: string;
  /** The token of the grant that this change makes to it, see `Peers.expects`. */
  readonly token?: string | undefined;
}

export interface Errand {
  readonly from: string;
  readonly number: string;
  /** The command must not be applied later. */
  readonly until: Micros;
  readonly secret: string;
}

/** A command, of this process or a third one, that may be left to another. */
export interface Leaving {
  readonly command: string;
  readonly errand?: Errand | undefined;
}

export interface Taken {
  /**
   * The answers to commands that were left to that process; `undefined` for none: then it will not
   * be applied any more. `undefined` if they were not left.
   */
  readonly left: readonly Promise<string | undefined>[] | undefined;
  /** Perhaps they were left, so those of others must not be applied. */
  readonly inDoubt?: boolean | undefined;
}

/** All of it may be lost. */
export interface Peers {
  listener: PeerListener | undefined;
  /** A request of this process has this token: a grant to it may hand the version over. */
  expects(key: string, token: string): void;
  answerTo(errand: Errand, reply: string): Message;
  /** The register's clock is not ahead of this. */
  latest(): Micros;
  /** Resolves when commands that are collected are here, or late. */
  gathering?(key: string): Promise<void> | undefined;
  /** How long a key counts as about to be changed by another process, in ms. */
  stays(): number;
}

export interface PeerListener {
  /** The next swap needs no read. */
  handedOver(key: string, state: Versioned): void;
  asked(key: string, command: string, errand: Errand): void;
}

/** Each plain register is one, too. */
export interface PeerRegister extends Register {
  readonly peers?: Peers | undefined;

  read(key: string): Promise<PeerVersioned>;

  /**
   * As `read`, unless another process is about to change the key: a read would be in its way. Then
   * the commands may be left to it.
   * @param isCalm another round trip does not matter
   */
  readFree?(
    key: string,
    commands: readonly Leaving[],
    isCalm: boolean,
  ): Promise<PeerVersioned | Taken>;

  /**
   * The state without a version, for commands that change nothing. Set if that costs less than
   * `read`. It writes nothing.
   */
  look?(key: string): Promise<Versioned>;

  swap(key: string, version: string, change: PeerChange): Promise<PeerSwapped>;
}
