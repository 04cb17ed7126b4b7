/** What `Holdfast.doctor` asks of a store, and what the store answers. */
import type { Clock } from '../base/clock.js';

/**
 * How much a finding endangers the locks:
 *
 * - `danger`: a lock may have two holders, or the locks do not work at all.
 * - `warning`: a failure would do harm, or the locks are slower than they could be.
 * - `notice`: worth knowing; or the doctor could not look.
 */
export type FindingSeverity = 'danger' | 'warning' | 'notice';

/**
 * The kind of a finding. The names do not change; new ones may be added. A register has its own,
 * which begin with its name and a colon.
 */
export type FindingCode =
  | 'client-may-end'
  | 'client-may-hang'
  | 'clock-differs-from-machine'
  | 'clocks-differ'
  | 'cluster-node'
  | 'co-located-servers'
  | 'could-not-look'
  | 'durable-without-persistence'
  | 'eviction'
  | 'lazy-persistence'
  | 'login-refused'
  | 'memory-limit'
  | 'missing-right'
  | 'no-persistence'
  | 'no-pushes'
  | 'no-spare-server'
  | 'not-independent'
  | 'old-server'
  | 'open-slots'
  | 'other-prefix'
  | 'read-only-replica'
  | 'replicas-without-persistence'
  | 'silent-connection'
  | 'slow-commands'
  | 'slow-round-trip'
  | 'unacknowledged-replicas'
  | 'unreachable'
  | 'writes-fail'
  | `${string}:${string}`;

/** Something that endangers locks. */
export interface Finding {
  readonly code: FindingCode;
  readonly severity: FindingSeverity;
  /** Its address; an empty string if the finding is about several servers. */
  readonly server: string;
  /** What it means for locks. */
  readonly message: string;
  /** What was seen. */
  readonly evidence: string;
  /** What to do. */
  readonly advice: string;
}

/** A server that was examined. */
export interface ExaminedServer {
  readonly address: string;
  /** For example `redis 7.0.15`; an empty string if unknown. */
  readonly version: string;
  /** The shortest of several, in ms; `undefined` if the server did not answer. */
  readonly roundTrip: number | undefined;
  /** By how many ms its clock is ahead of this machine's; `undefined` if unknown. */
  readonly clockOffset: number | undefined;
}

export interface Examination {
  readonly findings: readonly Finding[];
  readonly servers: readonly ExaminedServer[];
}

export interface ExamineTerms {
  readonly clock: Clock;
  readonly ttl: number;
  readonly claimWindow: number;
  readonly requestTimeout: number;
  /** How many must have a grant before it counts. */
  readonly replicas: number;
  /** See `clock-margin.ts`. */
  readonly clockMargin: number;
  /** Unique, for the keys and channels of this examination. */
  readonly id: string;
}
