import type { LockOptions } from '../base/options.js';
import type { HolderInfo } from './inspection.js';
import type { SlotState } from './schedule-slots.js';

export interface ScheduleOptions extends Pick<LockOptions, 'ttl' | 'label'> {
  /**
   * Ms for which the lock is kept at least, even if the work ends earlier or fails, or its process
   * dies. Longer than the clocks of the machines differ, and shorter than the interval of the
   * schedule. 0 to 86,400,000.
   */
  readonly atLeast: number;
  /**
   * Ms for which the lock is held at most; then the run's signal aborts. 10 to 86,400,000, and not
   * below `atLeast`; default 3,600,000, or `atLeast`.
   */
  readonly atMost?: number | undefined;
  /**
   * Ms for which a taken slot is remembered; a machine that fires later runs it again. 10 to
   * 86,400,000; default 3,600,000.
   */
  readonly retention?: number | undefined;
  /**
   * Whether failed work counts as a run. `keep`: it does; the lock is kept for `atLeast` and the
   * slot stays taken. `release`: the next machine that fires runs. Default `keep`.
   */
  readonly afterFailure?: 'keep' | 'release' | undefined;
}

export interface RunOnceOptions {
  /**
   * The scheduled time's name, equal on all machines, for example `2026-11-21T02:00Z`. A slot runs
   * at most once in `retention` ms. Key and slot together have at most 1,018 bytes.
   */
  readonly slot?: string | undefined;
  /** Longest time to wait for the lock, in ms. Default 0: skip the run if it is not free. */
  readonly wait?: number | undefined;
  /** Stops the wait for the lock; work that has begun goes on. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Why a call did not run its work:
 *
 * - `busy`: another run holds the lock, or began less than `atLeast` ms ago; with `wait`, during
 *   the whole wait.
 * - `slot-taken`: the slot has had its run, see {@link SlotState}.
 */
export type SkipReason = 'busy' | 'slot-taken';

/** `ran`: this call ran the work. */
export type RunOnceResult<T> =
  | {
      readonly ran: true;
      readonly value: T;
      /** See `ScheduledRun.fence`. */
      readonly fence: number;
    }
  | {
      readonly ran: false;
      readonly reason: SkipReason;
      /** The run that holds the lock or the slot, if the store still has it. */
      readonly holder: HolderInfo | null;
      /** The state of the slot, if the call has one and the store told it. */
      readonly slot: SlotState | undefined;
    };

export const HOUR = 3_600_000;

export function lockOptions({ ttl, label, atMost }: ScheduleOptions): LockOptions {
  const given = { ...(ttl !== undefined && { ttl }), ...(label !== undefined && { label }) };
  return { fair: true, ...given, renew: true, maxHold: atMost };
}
