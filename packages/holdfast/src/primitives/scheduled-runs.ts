/**
 * The runs of a schedule.
 *
 *     runOnce --slot taken, or lock not free--> skipped
 *        \--lock--> slot? --taken--> (lock released) skipped
 *                     \--marked--> kept for atLeast --> work --> ended, or kept until atLeast
 *
 * The lock of the key prevents simultaneous runs; the store extends it to `atLeast`. A slot's
 * marker lasts for `retention` ms, and is released only after a failure with
 * `afterFailure: 'release'`. At most one run of a slot gets it (I1), and it expires (I9). Both are
 * in the store before the work begins, so a run counts even if its process crashes.
 */
import type { Core } from '../acquire/core.js';
import type { HolderInfo } from './inspection.js';
import { Acquirer, quietly } from './acquirer.js';
import { KeptLease } from './kept-lease.js';
import {
  HOUR,
  lockOptions,
  type RunOnceOptions,
  type RunOnceResult,
  type ScheduleOptions,
} from './schedule-options.js';
import { shownAs } from '../base/shown.js';
import { unlessEnded } from './lock-state.js';
import { holderOf, Slot } from './schedule-slots.js';

/** The argument of the work: one run. */
export class ScheduledRun {
  static {
    shownAs(this, ({ key, slot, fence, held, remaining }) => ({
      key,
      slot,
      fence,
      held,
      remaining,
    }));
  }

  readonly #lease: KeptLease;
  readonly slot: string | undefined;

  /** @internal */
  constructor(lease: KeptLease, slot: string | undefined) {
    this.#lease = lease;
    this.slot = slot;
  }

  get key(): string {
    return this.#lease.key;
  }

  /** Greater than that of every earlier run of the key. A safe integer. */
  get fence(): number {
    return this.#lease.fence;
  }

  /** Aborts when the lock is lost, and after `atMost` ms. */
  get signal(): AbortSignal {
    return this.#lease.signal;
  }

  /** See {@link Lease.held}. */
  get held(): boolean {
    return this.#lease.held;
  }

  /** See {@link Lease.verify}. */
  verify(): Promise<boolean> {
    return this.#lease.verify();
  }

  /** See {@link Lease.remaining}. */
  get remaining(): number {
    return this.#lease.remaining;
  }
}

export class ScheduledRuns {
  readonly #core: Core;
  readonly #key: string;
  readonly #options: ScheduleOptions;
  readonly #acquirer: Acquirer<KeptLease>;

  constructor(core: Core, key: string, options: ScheduleOptions) {
    this.#core = core;
    this.#key = key;
    this.#options = options;
    this.#acquirer = new Acquirer(
      core,
      { key, kind: 'mutex', capacity: 1 },
      lockOptions(options),
      KeptLease,
    );
  }

  async runOnce<T>(
    work: (run: ScheduledRun) => T | Promise<T>,
    options: RunOnceOptions,
  ): Promise<RunOnceResult<T>> {
    const { slot: name, ...waiting } = options;
    const soon = <R>(call: () => Promise<R>): Promise<R> =>
      unlessEnded(this.#core, this.#key, options.signal, call);
    const slot = name === undefined ? undefined : new Slot(this.#core, this.#key, name);
    this.#acquirer.terms(waiting, 0);
    const taken = slot && (await soon(() => slot.taken()));
    if (slot && taken) return soon(() => skippedSlot(slot, taken));
    const lease = await this.#acquirer.tryAcquire(1, waiting);
    if (lease === null) return soon(() => this.#busy(slot));
    const preparing = this.#prepare(lease, slot);
    const marker = await soon(() => preparing).catch((error: unknown) => {
      void quietly(preparing.then((late) => undo([lease, late])));
      throw error;
    });
    if (marker !== null) {
      const run = (): Promise<RunOnceResult<T>> =>
        this.#run(lease, marker, slot, () => work(new ScheduledRun(lease, name)));
      return this.#core.telemetry.run(this.#key, run);
    }
    const released = quietly(lease.release());
    return soon(async () => {
      await released;
      return skippedSlot(slot as Slot, (await quietly((slot as Slot).taken())) ?? null);
    });
  }

  async #busy(slot: Slot | undefined): Promise<Skipped> {
    const taken = slot && (await quietly(slot.soonTaken()));
    if (slot && taken) return skippedSlot(slot, taken);
    const holder = (await quietly(holderOf(this.#core, this.#key))) ?? null;
    const state = taken === null ? 'missed' : undefined;
    return { ran: false, reason: 'busy', holder, slot: state };
  }

  /** `undefined` without a slot, `null` if it is taken. Nothing is held after a rejection. */
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
    // so that not even `close` releases the marker
    if (!forgiving) marker?.leave();
    let value: T;
    try {
      value = await work();
    } catch (error) {
      if (forgiving) await undo([lease, marker]);
      else {
        await slot?.ended('failed');
        await quietly(lease.end());
      }
      throw error;
    }
    const loss = (await lease.verify()) ? undefined : lease.loss;
    if (forgiving) marker?.leave();
    if (loss === undefined) await slot?.ended('done');
    const outcome = await quietly(lease.end());
    if (loss !== undefined || outcome === 'lost') throw loss ?? lease.loss;
    return { ran: true, value, fence };
  }
}

type Skipped = Extract<RunOnceResult<never>, { ran: false }>;

async function skippedSlot(slot: Slot, holder: HolderInfo | null): Promise<Skipped> {
  return { ran: false, reason: 'slot-taken', holder, slot: await quietly(slot.state()) };
}

async function undo(leases: readonly (KeptLease | null | undefined)[]): Promise<void> {
  await Promise.all(leases.map(async (one) => quietly(Promise.resolve(one?.release()))));
}
