/**
 * The words of gates: what latches and barriers are made of. See `gate.ts`.
 *
 * Everything that changes a gate names the generation that it means, so that what comes late, or
 * twice, never counts in another one.
 */
import type { Micros } from './commands.js';

/** A latch opens once and stays open; a barrier lets its parties through and begins anew. */
export type GateKind = 'latch' | 'barrier';

/** Why a generation is broken. */
export type BreakReason = 'expired' | 'withdrawn' | 'reset';

/** How a generation of a gate stands; `unknown` if it is not remembered, or never was. */
export type Fate = 'closed' | 'open' | 'broken' | 'unknown';

/** Counts an arrival, once for each id. Counts nothing unless its generation is the current one. */
export interface Arrive {
  readonly op: 'arrive';
  readonly key: string;
  readonly kind: GateKind;
  /** Arrivals that open the gate: all must say the same. */
  readonly count: number;
  readonly generation: number;
  /** Unique for ever. It owns the arrival. */
  readonly id: string;
  /** Arrivals that it stands for. */
  readonly by: number;
  /**
   * Ms: of a latch, how long it lasts without another arrival; of a barrier, how long this arrival
   * lasts without a `Watch`.
   */
  readonly ttl: number;
  /** Where to tell how the generation ended, or `''`. */
  readonly channel: string;
  /** A secret that the push to the channel repeats, or `''`: see `Acquire.token`. */
  readonly token: string;
  /** Ms for which a gate is remembered after it has ended. */
  readonly retention: number;
}

/** Looks at a generation, keeps arrivals of it alive, and makes the gate if there is none. */
export interface Watch {
  readonly op: 'watch';
  readonly key: string;
  readonly kind: GateKind;
  /** As in `Arrive`; 0 to look only: nothing is made, and any count will do. */
  readonly count: number;
  /** 0 for the current one. */
  readonly generation: number;
  /** Arrivals to keep alive. */
  readonly ids: readonly string[];
  readonly ttl: number;
  readonly channel: string;
  /** See `Arrive.token`. */
  readonly token: string;
  readonly retention: number;
}

/** Ends a generation, and begins the next one: nothing happens unless it is the current one. */
export interface EndGeneration {
  readonly op: 'endGeneration';
  readonly key: string;
  readonly kind: GateKind;
  /** Of the next generation. */
  readonly count: number;
  readonly generation: number;
  /** Why, if the generation had not opened. */
  readonly reason: BreakReason;
  readonly ttl: number;
  readonly retention: number;
}

export type GateCommand = Arrive | Watch | EndGeneration;

/** How the generation that was named stands, and what else there is to know. */
export interface GateStatus {
  readonly status: 'gate';
  readonly now: Micros;
  /** The generation that this is about. */
  readonly generation: number;
  readonly fate: Fate;
  /** Of a broken one. */
  readonly reason: BreakReason | '';
  /**
   * Arrivals that were missing after the id's own was counted in this generation; -1 if it was not,
   * as far as is remembered.
   */
  readonly rank: number;
  /** True if it is known for sure whether the id was counted in this generation. */
  readonly sure: boolean;
  /** The current generation, 0 if there is no gate. */
  readonly current: number;
  /** Arrivals that the current generation still needs. */
  readonly left: number;
  /** Microseconds until the current generation may break by itself, 0 if nothing is due. */
  readonly next: Micros;
}

/** The key is in use by another kind of gate, or with another count. */
export interface GateOther {
  readonly status: 'other';
  readonly now: Micros;
  readonly kind: GateKind;
  readonly count: number;
}

export type GateReply = GateStatus | GateOther;

/** Told to all who wait for a generation, one message for each channel. */
export interface GatePush {
  readonly kind: 'gate';
  readonly key: string;
  readonly generation: number;
  readonly fate: 'open' | 'broken';
  readonly reason: BreakReason | '';
  /** The generation that is current from now on. */
  readonly current: number;
  /** See `Arrive.token`. */
  readonly token: string;
}

export function isGateCommand(command: { readonly op: string }): command is GateCommand {
  return command.op === 'arrive' || command.op === 'watch' || command.op === 'endGeneration';
}
