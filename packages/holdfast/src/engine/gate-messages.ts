/**
 * The messages of gates, on which latches and barriers are built; see `gate.ts`. Every command that
 * changes a gate names its generation, so a late or repeated one never counts in another.
 */
import type { Micros } from './commands.js';

/** A latch opens once and stays open. A barrier opens for its parties and starts again. */
export type GateKind = 'latch' | 'barrier';

/** Why a generation is broken. */
export type BreakReason = 'expired' | 'withdrawn' | 'reset' | 'deleted';

/** `unknown` if the gate does not remember the generation, or if it never existed. */
export type Fate = 'closed' | 'open' | 'broken' | 'unknown';

/** Counts an arrival, once for each id, and only in the current generation. */
export interface Arrive {
  readonly op: 'arrive';
  readonly key: string;
  readonly kind: GateKind;
  /** How many arrivals open the gate. All commands must name the same number. */
  readonly count: number;
  readonly generation: number;
  readonly id: string;
  readonly by: number;
  /**
   * In ms: without another arrival for this time a latch breaks (an earlier arrival may have named
   * a longer one); without a `Watch` this arrival at a barrier expires.
   */
  readonly ttl: number;
  /** The channel for the message that the generation ended, or `''`. */
  readonly channel: string;
  /** See `Acquire.token`. */
  readonly token: string;
  /** How long an ended gate is kept, in ms; a shorter time of a later call changes nothing. */
  readonly retention: number;
}

/** Shows a generation, extends the life of its arrivals, and creates the gate if there is none. */
export interface Watch {
  readonly op: 'watch';
  readonly key: string;
  readonly kind: GateKind;
  /** As in `Arrive`; 0 to read only: no gate is created, and any count matches. */
  readonly count: number;
  /** 0 for the current one. */
  readonly generation: number;
  readonly ids: readonly string[];
  readonly ttl: number;
  readonly channel: string;
  readonly token: string;
  readonly retention: number;
}

/**
 * Ends a generation and begins the next one. Only for the current generation, and only if its count
 * agrees, so a caller whose arrival was refused cannot break it.
 */
export interface EndGeneration {
  readonly op: 'endGeneration';
  readonly key: string;
  readonly kind: GateKind;
  /** As in `Arrive`. 0, for any count, if the reason is `deleted`. */
  readonly count: number;
  readonly generation: number;
  /** Used if the generation is not open. */
  readonly reason: BreakReason;
  readonly ttl: number;
  readonly retention: number;
}

export type GateCommand = Arrive | Watch | EndGeneration;

/** The state of the generation that the command named. */
export interface GateStatus {
  readonly status: 'gate';
  readonly now: Micros;
  readonly generation: number;
  readonly fate: Fate;
  readonly reason: BreakReason | '';
  /**
   * How many arrivals were missing after this id was counted; -1 if it was not counted, or is not
   * remembered.
   */
  readonly rank: number;
  /** The gate knows whether this id was counted. */
  readonly sure: boolean;
  /** 0 if there is no gate. */
  readonly current: number;
  /** 0 if there is no gate, or it was deleted. */
  readonly count: number;
  readonly missing: number;
  /** Microseconds until the current generation may expire, 0 if it cannot. */
  readonly next: Micros;
}

/** The key is in use by a gate of another kind, or with another count. */
export interface GateOther {
  readonly status: 'other';
  readonly now: Micros;
  readonly kind: GateKind;
  readonly count: number;
}

export type GateReply = GateStatus | GateOther;

export interface GatePush {
  readonly kind: 'gate';
  readonly key: string;
  readonly generation: number;
  readonly fate: 'open' | 'broken';
  readonly reason: BreakReason | '';
  readonly current: number;
  readonly token: string;
}

export function isGateCommand(command: { readonly op: string }): command is GateCommand {
  return command.op === 'arrive' || command.op === 'watch' || command.op === 'endGeneration';
}
