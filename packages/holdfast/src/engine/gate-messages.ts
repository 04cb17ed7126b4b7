/**
 * The messages of gates, see `gate.ts`. A command that changes a gate names its generation, so a
 * late or repeated one never counts in another.
 */
import type { Micros } from './commands.js';

/** A latch opens once and stays open. A barrier opens for its parties and starts again. */
export type GateKind = 'latch' | 'barrier';

export type BreakReason = 'expired' | 'withdrawn' | 'reset' | 'deleted';

/** `unknown`: the gate does not remember the generation, or it never existed. */
export type Fate = 'closed' | 'open' | 'broken' | 'unknown';

/** Counts an arrival, once for each id. */
export interface Arrive {
  readonly op: 'arrive';
  readonly key: string;
  readonly kind: GateKind;
  /** The arrivals that open the gate, equal in all commands. */
  readonly count: number;
  readonly generation: number;
  readonly id: string;
  readonly by: number;
  /**
   * In ms: without another arrival for this long a latch breaks (an earlier one may have named
   * more); without a `Watch` this arrival at a barrier expires.
   */
  readonly ttl: number;
  /** The channel for the message of the generation's end, or `''`. */
  readonly channel: string;
  readonly token: string;
  /** How long an ended gate is kept, in ms; a later call cannot shorten it. */
  readonly retention: number;
}

/** Shows a generation, extends the life of its arrivals, and creates a missing gate. */
export interface Watch {
  readonly op: 'watch';
  readonly key: string;
  readonly kind: GateKind;
  /** As in `Arrive`; 0 only reads: no gate is created, and any count matches. */
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
 * Ends the current generation and begins the next one, if its count agrees: a caller whose arrival
 * was refused cannot break it.
 */
export interface EndGeneration {
  readonly op: 'endGeneration';
  readonly key: string;
  readonly kind: GateKind;
  /** As in `Arrive`; 0, for any count, if the reason is `deleted`. */
  readonly count: number;
  readonly generation: number;
  /** Used if the generation is not open. */
  readonly reason: BreakReason;
  readonly ttl: number;
  readonly retention: number;
}

export type GateCommand = Arrive | Watch | EndGeneration;

export interface GateStatus {
  readonly status: 'gate';
  readonly now: Micros;
  readonly generation: number;
  readonly fate: Fate;
  readonly reason: BreakReason | '';
  /**
   * The arrivals that were missing after this id; -1 if it was not counted, or is not remembered.
   */
  readonly rank: number;
  /** Whether this id was counted is known. */
  readonly sure: boolean;
  /** 0 without a gate. */
  readonly current: number;
  /** 0 without a gate, or if deleted. */
  readonly count: number;
  readonly missing: number;
  /** Microseconds until the current generation may expire, or 0. */
  readonly next: Micros;
  /** The channels that are told when this generation ends; 0 unless it is closed. */
  readonly waiting: number;
}

/** The key is a gate of another kind, or with another count. */
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
