/**
 * Scheduled work, once for the cluster: the scheduler of every machine fires, one machine does the
 * work.
 *
 *     runOnce --slot taken, or lock not free--> skipped
 *        \--lock--> slot? --taken--> (lock released) skipped
 *                     \--marked--> kept for atLeast --> work --> ended, or kept until atLeast
 *
 * It uses two resources. The lock of the key prevents simultaneous runs; before the work begins,
 * the store extends it to `atLeast`. The marker of a slot is a resource of its own: a lease of
 * `retention` ms that is not renewed, and released only after a failure with
 * `afterFailure: 'release'`. At most one run of a slot is granted the marker (I1), and the marker
 * expires (I9). Both are in the store before the work begins, so a run counts even if its process
 * crashes, and there is no second run.
 */
import type { Core } from '../core.js';
import { badOption } from '../errors.js';
import type { HolderInfo } from '../inspection.js';
import type { LeaseRecord } from '../lease/lease-record.js';
import { duration, known } from '../checks.js';
import type { LockOptions } from '../options.js';
import { checkWork, Acquirer, quietly } from './acquirer.js';
import { KeptLease } from './kept-lease.js';
import { holderOf, Slot, type SlotState } from './slots.js';

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
const HOUR = 3_600_000;
const SCHEDULE = new Set<string>([
  'ttl',
  'label',
  'atLeast',
  'atMost',
  'retention',
  'afterFailure',
]);
const RUN = new Set<string>(['slot', 'wait', 'signal']);

/** One run of scheduled work; the work receives it as its argument. */
export class ScheduledRun {
  readonly #lease: KeptLease;
  /** The slot of `RunOnceOptions`, if it was given. */
  readonly slot: string | undefined;

  /** @internal */
  constructor(lease: KeptLease, slot: string | undefined) {
    this.#lease = lease;
    this.slot = slot;
  }

  /** The key of the schedule. */
  get key(): string {
    return this.#lease.key;
  }

  /** A number that is greater than that of every earlier run of the key. A safe integer. */
  get fence(): number {
    return this.#lease.fence;
  }

  /** Aborts when the lock is lost, and when it has been held for `atMost` ms. */
  get signal(): AbortSignal {
    return this.#lease.signal;
  }

  /** True while the lock is certainly held, by the local clock; see {@link Lease.held}. */
  get held(): boolean {
    return this.#lease.held;
  }

  /** Resolves to `held` once it is certain, see {@link Lease.verify}. */
  verify(): Promise<boolean> {
    return this.#lease.verify();
  }

  /** Ms for which the lock is certainly held without another renewal. 0 if it is not held. */
  get remaining(): number {
    return this.#lease.remaining;
  }
}

/** Scheduled work that many machines start at the same time, and one of them does. */
export class Schedule {
  /** The key of the schedule. */
  readonly key: string;
  readonly #core: Core;
  readonly #options: ScheduleOptions;
  readonly #acquirer: Acquirer<KeptLease>;

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
    const lock = { ...shared(options), renew: true, maxHold: atMost };
    this.#acquirer = new Acquirer(core, { key, capacity: 1 }, lock, keptLease);
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
    const { slot: name, ...waiting } = options;
    const slot = name === undefined ? undefined : new Slot(this.#core, this.key, name);
    this.#acquirer.terms(waiting, 0);
    const taken = await slot?.taken();
    if (slot && taken) return skippedSlot(slot, taken);
    const lease = await this.#acquirer.tryAcquire(1, waiting);
    if (lease === null) return this.#busy(slot);
    const marker = await this.#prepare(lease, slot);
    if (marker !== null) {
      const run = (): Promise<RunOnceResult<T>> =>
        this.#run(lease, marker, slot, () => work(new ScheduledRun(lease, name)));
      return this.#core.run(this.key, run);
    }
    await quietly(lease.release());
    return skippedSlot(slot as Slot, (await quietly((slot as Slot).taken())) ?? null);
  }

  /** The result of a call that did not get the lock. */
  async #busy(slot: Slot | undefined): Promise<Skipped> {
    const taken = slot && (await quietly(slot.soonTaken()));
    if (slot && taken) return skippedSlot(slot, taken);
    const holder = (await quietly(holderOf(this.#core, this.key))) ?? null;
    return { ran: false, reason: 'busy', holder, slot: slot && 'missed' };
  }

  /**
   * Marks the slot and extends the lock to `atLeast`. Resolves to the marker of the slot, to
   * `undefined` without a slot, and to `null` if the slot is taken. Nothing is held after a
   * rejection.
   */
  async #prepare(lease: KeptLease, slot: Slot | undefined): Promise<KeptLease | null | undefined> {
    let marker: KeptLease | null | undefined;
    try {
      marker = await slot?.mark(this.#retention, this.#options.label);
      if (marker !== null) await lease.keep(this.#options.atLeast);
      return marker;
    } catch (error) {
      await undo([lease, marker]);
      throw error;
    }
  }

  get #retention(): number {
    return this.#options.retention ?? HOUR;
  }

  async #run<T>(
    lease: KeptLease,
    marker: KeptLease | undefined,
    slot: Slot | undefined,
    work: () => T | Promise<T>,
  ): Promise<RunOnceResult<T>> {
    const { fence } = lease;
    const forgiving = this.#options.afterFailure === 'release';
    // this process must not release the marker, not even in a `close` during the work
    if (!forgiving) marker?.leave();
    let value: T;
    try {
      value = await work();
    } catch (error) {
      if (forgiving) await undo([lease, marker]);
      else {
        await slot?.ended('failed', this.#retention);
        await quietly(lease.end());
      }
      throw error;
    }
    const loss = (await lease.verify()) ? undefined : lease.loss;
    if (forgiving) marker?.leave();
    if (loss === undefined) await slot?.ended('done', this.#retention);
    const outcome = await quietly(lease.end());
    if (loss !== undefined || outcome === 'lost') throw loss ?? lease.loss;
    return { ran: true, value, fence };
  }
}

type Skipped = Extract<RunOnceResult<never>, { ran: false }>;

async function skippedSlot(slot: Slot, holder: HolderInfo | null): Promise<Skipped> {
  return { ran: false, reason: 'slot-taken', holder, slot: await quietly(slot.state()) };
}

/** Releases the given leases concurrently. */
async function undo(leases: readonly (KeptLease | null | undefined)[]): Promise<void> {
  await Promise.all(leases.map(async (one) => quietly(Promise.resolve(one?.release()))));
}

function keptLease(record: LeaseRecord, core: Core): KeptLease {
  return new KeptLease(record, core);
}

/** Options of the lock. `fair`: the store grants each acquisition itself. */
function shared({ ttl, label }: ScheduleOptions): LockOptions {
  return { fair: true, ...(ttl !== undefined && { ttl }), ...(label !== undefined && { label }) };
}
