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

/** A register that may do more than the port asks for. Each plain register is one, too. */
export interface PeerRegister extends Register {
  /** Set if processes can leave commands to each other. */
  readonly peers?: Peers | undefined;

  read(key: string): Promise<PeerVersioned>;

  /**
   * The state of a key, without a version: for commands that change nothing. Set if that costs less
   * than `read`. It writes nothing.
   */
  look?(key: string): Promise<Versioned>;

  swap(key: string, version: string, change: PeerChange): Promise<Swapped>;
}
