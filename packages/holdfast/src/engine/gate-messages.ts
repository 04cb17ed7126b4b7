/**
 * The messages of gates, which latches and barriers are built from. See `gate.ts`.
 *
 * Every command that changes a gate names its generation, so a late or repeated command never
 * counts in another generation.
 */
import type { Micros } from './commands.js';

/** A latch opens once and stays open. A barrier opens for its parties and starts again. */
export type GateKind = 'latch' | 'barrier';

/** The reason why a generation is broken. */
export type BreakReason = 'expired' | 'withdrawn' | 'reset' | 'deleted';

/**
 * The state of a generation; `unknown` if the gate does not remember it, or if it never existed.
 */
export type Fate = 'closed' | 'open' | 'broken' | 'unknown';

/** Counts an arrival, once for each id, and only in the current generation. */
export interface Arrive {
  readonly op: 'arrive';
  readonly key: string;
  readonly kind: GateKind;
  /** The number of arrivals that open the gate. All commands must name the same number. */
  readonly count: number;
  readonly generation: number;
  /** The id of the arrival, never used twice. */
  readonly id: string;
  /** The number of arrivals to count. */
  readonly by: number;
  /**
   * The time in ms without another arrival after which a latch breaks (an earlier arrival may have
   * named a longer one), or the time without a
   * `Watch` after which this arrival at a barrier expires.
   */
  readonly ttl: number;
  /** The channel for the message that the generation ended, or `''`. */
  readonly channel: string;
  /** A secret that the push to the channel repeats, or `''`: see `Acquire.token`. */
  readonly token: string;
  /** How long a gate is kept after it has ended, in ms; a shorter time of a later call changes
   * nothing. */
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
  /** The arrivals to extend. */
  readonly ids: readonly string[];
  readonly ttl: number;
  readonly channel: string;
  /** See `Arrive.token`. */
  readonly token: string;
  readonly retention: number;
}

/**
 * Ends a generation and begins the next one. It has an effect only on the current generation, and
 * only if its count agrees, so a caller whose arrival was refused cannot break the generation.
 */
export interface EndGeneration {
  readonly op: 'endGeneration';
  readonly key: string;
  readonly kind: GateKind;
  /** As in `Arrive`. 0, for any count, if the reason is `deleted`. */
  readonly count: number;
  readonly generation: number;
  /** The reason, used if the generation is not open. */
  readonly reason: BreakReason;
  readonly ttl: number;
  readonly retention: number;
}

export type GateCommand = Arrive | Watch | EndGeneration;

/** The state of the generation that the command named. */
export interface GateStatus {
  readonly status: 'gate';
  readonly now: Micros;
  /** The generation that this reply describes. */
  readonly generation: number;
  readonly fate: Fate;
  /** The reason if it is broken. */
  readonly reason: BreakReason | '';
  /**
   * The number of arrivals that were missing after this id was counted in this generation; -1 if it
   * was not counted, or is not remembered.
   */
  readonly rank: number;
  /** True if the gate knows whether this id was counted in this generation. */
  readonly sure: boolean;
  /** The current generation, 0 if there is no gate. */
  readonly current: number;
  /** The number of arrivals that open the gate; 0 if there is none, or if it was deleted. */
  readonly count: number;
  /** The number of arrivals that the current generation still needs. */
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

/** The push to all channels that wait for a generation. */
export interface GatePush {
  readonly kind: 'gate';
  readonly key: string;
  readonly generation: number;
  readonly fate: 'open' | 'broken';
  readonly reason: BreakReason | '';
  /** The generation that is current after this one. */
  readonly current: number;
  /** See `Arrive.token`. */
  readonly token: string;
}

export function isGateCommand(command: { readonly op: string }): command is GateCommand {
  return command.op === 'arrive' || command.op === 'watch' || command.op === 'endGeneration';
}
