/** What a register can do beyond the port: processes that use the same key help each other. */
import type { Micros } from '../../engine/commands.js';
import type { Change, Message, Register, Swapped, Versioned } from './register.js';

export interface PeerVersioned extends Versioned {
  /**
   * False if the state is not final until a swap succeeds: an interrupted swap of another process
   * made it. A command that changes nothing then swaps the same state.
   */
  readonly settled?: boolean | undefined;
  /** Every fence of a state that starts anew must be greater than this, whatever the clocks say. */
  readonly floor?: number | undefined;
}

export interface PeerChange extends Change {
  /** The greatest fence of the state. */
  readonly fence: number;
  /** Like `messages`, but never sent again. A process that gets none asks by itself. */
  readonly answers?: readonly Message[] | undefined;
  /**
   * The process that will probably change the key next. A register with `peers` may hand the new
   * version over to it.
   */
  readonly successor?: Successor | undefined;
  /** True if the key is free: no process will probably change it soon. */
  readonly rests?: boolean | undefined;
}

export interface Successor {
  readonly channel: string;
  /** The token of the grant that this change makes to it, see `Peers.expects`. */
  readonly token?: string | undefined;
}

/** A command that another process left: whom to answer, and how. */
export interface Errand {
  /** The channel of its sender. */
  readonly from: string;
  /** Identifies the command at its sender. */
  readonly number: string;
  /** The command must not be applied at a later time. */
  readonly until: Micros;
  /** Signs the answer. */
  readonly secret: string;
}

/** A command that may be left to another process, of this process or of a third one. */
export interface Leaving {
  readonly command: string;
  readonly errand?: Errand | undefined;
}

/** Another process is about to change the key. */
export interface Taken {
  /**
   * What becomes of the commands, if they were left to that process: its answers, or `undefined` if
   * there is none. Then it will not be applied any more. `undefined` if they were not left.
   */
  readonly left: readonly Promise<string | undefined>[] | undefined;
}

/** How processes that use the same key help each other. All of it may be lost. */
export interface Peers {
  /** Receives versions that were handed over, and commands that were left to this process. */
  listener: PeerListener | undefined;
  /** A request of this process has this token: a grant to it may hand the version over. */
  expects(key: string, token: string): void;
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

/** A register that may do more than the port asks for. Each plain register is one, too. */
export interface PeerRegister extends Register {
  /** Set if processes can leave commands to each other. */
  readonly peers?: Peers | undefined;

  read(key: string): Promise<PeerVersioned>;

  /**
   * As `read`, unless another process is about to change the key: a read would be in its way. Then
   * the commands may be left to that process.
   * @param isCalm true if another round trip does not matter
   */
  readFree?(
    key: string,
    commands: readonly Leaving[],
    isCalm: boolean,
  ): Promise<PeerVersioned | Taken>;

  /**
   * The state of a key, without a version: for commands that change nothing. Set if that costs less
   * than `read`. It writes nothing.
   */
  look?(key: string): Promise<Versioned>;

  swap(key: string, version: string, change: PeerChange): Promise<Swapped>;
}
