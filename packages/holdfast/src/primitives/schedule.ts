import type { Core } from '../acquire/core.js';
import { badOption } from '../base/errors.js';
import { duration, known } from '../base/checks.js';
import { checkLockOptions } from '../base/options.js';
import { checkWork } from './acquirer.js';
import { type ScheduledRun, ScheduledRuns } from './scheduled-runs.js';
import {
  HOUR,
  lockOptions,
  type RunOnceOptions,
  type RunOnceResult,
  type ScheduleOptions,
} from './schedule-options.js';

const DAY = 86_400_000;
const SCHEDULE = new Set<string>([
  'ttl',
  'label',
  'atLeast',
  'atMost',
  'retention',
  'afterFailure',
]);
const RUN = new Set<string>(['slot', 'wait', 'signal']);

/** Work that many machines start at the same time, and one of them does. */
export class Schedule {
  readonly key: string;
  readonly #core: Core;
  readonly #options: ScheduleOptions;
  #runs: ScheduledRuns | undefined;

  /** @internal */
  constructor(core: Core, key: string, options = {} as ScheduleOptions) {
    known('options', options, SCHEDULE);
    const atLeast = duration('atLeast', options.atLeast, Number.NaN, 0, DAY);
    if (Number.isNaN(atLeast)) throw badOption('atLeast', 'a number of milliseconds', undefined);
    const atMost = duration('atMost', options.atMost, Math.max(HOUR, atLeast), 10, DAY);
    if (atMost < atLeast) throw badOption('atMost', `at least ${atLeast} (atLeast)`, atMost);
    duration('retention', options.retention, HOUR, 10, DAY);
    if (![undefined, 'keep', 'release'].includes(options.afterFailure)) {
      throw badOption('afterFailure', '"keep" or "release"', options.afterFailure);
    }
    this.key = key;
    this.#core = core;
    this.#options = { ...options, atMost };
    checkLockOptions(core.settings, lockOptions(this.#options));
  }

  /**
   * Does the work and resolves to its value with `ran: true`; or does nothing and resolves to a
   * `reason` with `ran: false`, see `SkipReason`.
   *
   * The lock is renewed while the work runs, and ends with it, but not before `atLeast` and not
   * after `atMost` ms. If the process exits before `atLeast` ms have passed, the store ends the
   * lock by its own clock, at most one ttl late. After a crash it ends one ttl after the last
   * renewal, and not before `atLeast`.
   *
   * Rejects with the work's own error; with `HOLDFAST_LOST` if the lock was lost before the work
   * ended (the work was done, but another run may have been active at the same time); with
   * `HOLDFAST_UNCERTAIN` if the store stopped replying before the work began; and as
   * `Mutex.acquire` does, without `HOLDFAST_TIMEOUT`.
   */
  async runOnce<T>(
    work: (run: ScheduledRun) => T | Promise<T>,
    options: RunOnceOptions = {},
  ): Promise<RunOnceResult<T>> {
    checkWork(work);
    known('options', options, RUN);
    this.#runs ??= new ScheduledRuns(this.#core, this.key, this.#options);
    return this.#runs.runOnce(work, options);
  }
}
