/** What `Holdfast.doctor` asks of a store, and the answer. */
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
 * The kind of a finding. Names do not change; new ones may be added. A register's begin with its
 * name and a colon.
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
  | 'not-voting'
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
  /** Its address; empty if several servers are meant. */
  readonly server: string;
  /** What it means for locks. */
  readonly message: string;
  /** What was seen. */
  readonly evidence: string;
  /** What to do. */
  readonly advice: string;
}

export interface ExaminedServer {
  readonly address: string;
  /** The version, as `redis 7.0.15`; empty if unknown. */
  readonly version: string;
  /** The shortest of several, in ms; `undefined` without an answer. */
  readonly roundTrip: number | undefined;
  /** How far its clock is ahead of this machine's, in ms; `undefined` if unknown. */
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
  /** The replicas that must have a grant before it counts. */
  readonly replicas: number;
  readonly clockMargin: number;
  /** For keys and channels. */
  readonly id: string;
}
