/**
 * Scheduled work, once for the cluster: the scheduler of every machine fires, one machine does the
 * work. The runs themselves are in `scheduled-runs.ts`, which is loaded with the first one.
 */
import type { Core } from '../core.js';
import { badOption } from '../errors.js';
import type { HolderInfo } from '../inspection.js';
import { Later } from '../later.js';
import { duration, known } from '../checks.js';
import { checkLockOptions, type LockOptions } from '../options.js';
import { checkWork } from './acquirer.js';
import type * as Module from './scheduled-runs.js';
import type { ScheduledRun } from './scheduled-runs.js';
import type { SlotState } from './slots.js';

/** @internal */
export const RUNS: Later<typeof Module> = new Later(() => import('./scheduled-runs.js'));

/** Options of a schedule. */
export interface ScheduleOptions extends Pick<LockOptions, 'ttl' | 'label'> {
  /**
   * Ms for which the lock is kept at least after it was acquired, even if the work ends earlier or
   * fails, or its process dies. It must be longer than the difference between the clocks of the
   * machines, and shorter than the interval of the schedule. 0 to 86,400,000.
   */
  readonly atLeast: number;
  /**
   * Ms for which the lock is held at most, even if the work still runs. Then the run's signal
   * aborts. 10 to 86,400,000, and not below `atLeast`; default 3,600,000.
   */
  readonly atMost?: number | undefined;
  /**
   * Ms for which a slot is remembered after it was taken. A machine that fires later than this runs
   * the slot again. 10 to 86,400,000; default 3,600,000.
   */
  readonly retention?: number | undefined;
  /**
   * Whether a run counts if its work fails. `keep`: it counts; the lock is kept for `atLeast` and
   * the slot stays taken. `release`: it does not count, and the next machine that fires runs.
   * Default `keep`.
   */
  readonly afterFailure?: 'keep' | 'release' | undefined;
}

/** Options of one `runOnce`. */
export interface RunOnceOptions {
  /**
   * The name of the scheduled time, equal on all machines, for example `2026-11-21T02:00Z`. A slot
   * runs at most once in `retention` ms. Key and slot together have at most 1,018 bytes.
   */
  readonly slot?: string | undefined;
  /** Longest time to wait for the lock, in ms. Default 0: skip the run if the lock is not free. */
  readonly wait?: number | undefined;
  /** Stops the wait for the lock. It has no effect on work that has begun. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Why a call did not run its work:
 *
 * - `busy`: another run holds the lock, or began less than `atLeast` ms ago. With `wait`, this was
 *   so during the whole wait.
 * - `slot-taken`: the slot has had its run, see {@link SlotState}.
 */
export type SkipReason = 'busy' | 'slot-taken';

/** The result of `runOnce`. `ran` tells whether this call ran the work. */
export type RunOnceResult<T> =
  | {
      readonly ran: true;
      /** The value to which the work resolved. */
      readonly value: T;
      /** See `ScheduledRun.fence`. */
      readonly fence: number;
    }
  | {
      readonly ran: false;
      /** Why the work was not run. */
      readonly reason: SkipReason;
      /** The run that holds the lock or the slot, if the store still has it. */
      readonly holder: HolderInfo | null;
      /** What became of the slot, if the call has one. */
      readonly slot: SlotState | undefined;
    };

const DAY = 86_400_000;
export const HOUR = 3_600_000;
const SCHEDULE = new Set<string>([
  'ttl',
  'label',
  'atLeast',
  'atMost',
  'retention',
  'afterFailure',
]);
const RUN = new Set<string>(['slot', 'wait', 'signal']);

/** Scheduled work that many machines start at the same time, and one of them does. */
export class Schedule {
  /** The key of the schedule. */
  readonly key: string;
  readonly #core: Core;
  readonly #options: ScheduleOptions;
  #runs: Module.ScheduledRuns | undefined;

  /** @internal */
  constructor(core: Core, key: string, options: ScheduleOptions) {
    known('options', options, SCHEDULE);
    const atLeast = duration('atLeast', options.atLeast, Number.NaN, 0, DAY);
    if (Number.isNaN(atLeast)) throw badOption('atLeast', 'a number of milliseconds', undefined);
    const atMost = duration('atMost', options.atMost, HOUR, 10, DAY);
    if (atMost < atLeast) throw badOption('atMost', `at least ${atLeast} (atLeast)`, atMost);
    duration('retention', options.retention, HOUR, 10, DAY);
    if (![undefined, 'keep', 'release'].includes(options.afterFailure)) {
      throw badOption('afterFailure', '"keep" or "release"', options.afterFailure);
    }
    this.key = key;
    this.#core = core;
    this.#options = options;
    checkLockOptions(core.settings, lockOptions(options));
  }

  /**
   * Does the work and resolves to its value with `ran: true`. Does nothing and resolves to a
   * `reason` with `ran: false` if another machine does the work, if another run began less than
   * `atLeast` ms ago, or if the `slot` has already had its run.
   *
   * The lock is renewed while the work runs, for at most `atMost` ms. It ends when the work ends,
   * but not before `atLeast` ms after it was acquired. If the process exits before that, the store
   * ends the lock by its own clock, at most one ttl late. After a crash it ends one ttl after the
   * last renewal, and not before `atLeast`.
   *
   * Rejects with the work's own error; with `HOLDFAST_LOST` if the lock was lost before the work
   * ended (the work was done, but another run may have been active at the same time); with
   * `HOLDFAST_UNCERTAIN` if the store stopped replying before the work began; and as
   * `Mutex.acquire` does, without `HOLDFAST_TIMEOUT`. In the latter two cases the work was not
   * started.
   */
  async runOnce<T>(
    work: (run: ScheduledRun) => T | Promise<T>,
    options: RunOnceOptions = {},
  ): Promise<RunOnceResult<T>> {
    checkWork(work);
    known('options', options, RUN);
    const { ScheduledRuns } = await RUNS.get();
    this.#runs ??= new ScheduledRuns(this.#core, this.key, this.#options);
    return this.#runs.runOnce(work, options);
  }
}

/** Options of the lock. `fair`: the store grants each acquisition itself. */
export function lockOptions({ ttl, label, atMost = HOUR }: ScheduleOptions): LockOptions {
  const given = { ...(ttl !== undefined && { ttl }), ...(label !== undefined && { label }) };
  return { fair: true, ...given, renew: true, maxHold: atMost };
}
