/**
 * Scheduled work, once for the cluster: every machine's scheduler fires, one machine works.
 *
 *     runOnce --slot taken, or lock not free--> skipped
 *        \--lock--> slot? --taken--> (lock released) skipped
 *                     \--marked--> kept for atLeast --> work --> ended, or left until atLeast
 *
 * Two resources. The lock of the key keeps runs apart, and from the moment at which the work may
 * begin the store keeps it for `atLeast`. The marker of a slot is a resource of its own, a lease of
 * `remember` that nobody renews or releases: at most one run of a slot is granted it (I1), and it
 * goes away by itself (I9). Both stand in the store before the work begins, so that a crash at any
 * moment leaves a run that counts, never a second one.
 */
import type { Core } from '../core.js';
import { badOption } from '../errors.js';
import { type HolderInfo, inspect } from '../inspection.js';
import type { LeaseRecord } from '../lease/lease-record.js';
import { duration, known } from '../checks.js';
import type { LockOptions } from '../options.js';
import { checkWork, Acquirer, quietly } from './acquirer.js';
import { KeptLease } from './kept-lease.js';

/** What a schedule is made with. */
export interface ScheduleOptions extends Pick<LockOptions, 'ttl' | 'label'> {
  /**
   * Ms for which the lock is kept after it was taken, even if the work ends earlier, fails, or its
   * process dies: longer than the clocks of the machines differ, shorter than the interval. 0 to
   * 86,400,000.
   */
  readonly atLeast: number;
  /**
   * Ms for which the lock is held at most, whatever the work does; its signal aborts then. 10 to
   * 86,400,000, and not below `atLeast`; default 3,600,000.
   */
  readonly atMost?: number;
  /**
   * Ms for which a slot is remembered after it was taken: no machine may fire later than that after
   * another. 10 to 86,400,000; default 3,600,000.
   */
  readonly remember?: number;
  /**
   * What becomes of a run whose work fails. `keep`: it counts as a run, `atLeast` and the slot are
   * kept. `release`: it does not count, and the next to fire runs. Default `keep`.
   */
  readonly onFailure?: 'keep' | 'release';
}

/** What one firing may say. */
export interface RunOnceOptions {
  /**
   * The name of the tick that fired, the same on all machines, as `2026-11-21T02:00Z`: at most one
   * run of it in `remember` ms. Key and slot together have at most 1,018 bytes.
   */
  readonly slot?: string;
  /** Longest time to wait for the lock. Default 0: skip. */
  readonly wait?: number;
  /** Gives the waiting up. Has no effect on work that has begun. */
  readonly signal?: AbortSignal;
}

/** The work was done here. */
export interface Ran<T> {
  readonly ran: true;
  /** What the work resolved to. */
  readonly value: T;
  /** See `ScheduledRun.fence`. */
  readonly fence: number;
}

/** The work was not done here. */
export interface Skipped {
  readonly ran: false;
  /**
   * `busy`: another run holds the lock, or ended less than `atLeast` ms after it had begun.
   * `slot-taken`: this slot has had its run.
   */
  readonly why: 'busy' | 'slot-taken';
  /** Whose run that is, if it can still be seen. */
  readonly holder: HolderInfo | null;
}

const DAY = 86_400_000;
const HOUR = 3_600_000;
/** Of a key and a slot together: a marker's key is longer by two `#` and four digits. */
const SLOT_BYTES_MAX = 1018;
const SCHEDULE = new Set<string>(['ttl', 'label', 'atLeast', 'atMost', 'remember', 'onFailure']);
const RUN = new Set<string>(['slot', 'wait', 'signal']);

/** One run of scheduled work, as the work sees it. */
export class ScheduledRun {
  readonly #lease: KeptLease;
  /** The tick, if it has a name. */
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

  /** A number greater than that of every earlier run of the key. A safe integer. */
  get fence(): number {
    return this.#lease.fence;
  }

  /** Aborts when the lock is lost, and when it was held for `atMost`. */
  get signal(): AbortSignal {
    return this.#lease.signal;
  }

  /** True while the lock is surely held: asked of the clock, see {@link Lease.held}. */
  get held(): boolean {
    return this.#lease.held;
  }

  /** Resolves to `held` once that is certain, see {@link Lease.verify}. */
  verify(): Promise<boolean> {
    return this.#lease.verify();
  }

  /** Milliseconds for which the lock is surely held without another renewal. 0 if it is not. */
  remaining(): number {
    return this.#lease.remaining();
  }
}

/** Work that many machines are told to do at the same time, and that one of them should do. */
export class Schedule {
  /** What is run once. */
  readonly key: string;
  readonly #core: Core;
  readonly #options: ScheduleOptions;
  readonly #acquirer: Acquirer<KeptLease>;

  /** @internal */
  constructor(core: Core, key: string, options: ScheduleOptions) {
    known('options', options, SCHEDULE);
    const atLeast = duration('atLeast', options.atLeast, Number.NaN, 0, DAY);
    if (Number.isNaN(atLeast)) throw badOption('atLeast', 'given, in milliseconds', undefined);
    const atMost = duration('atMost', options.atMost, HOUR, 10, DAY);
    if (atMost < atLeast) throw badOption('atMost', 'atLeast or more', atMost);
    duration('remember', options.remember, HOUR, 10, DAY);
    if (![undefined, 'keep', 'release'].includes(options.onFailure)) {
      throw badOption('onFailure', 'keep or release', options.onFailure);
    }
    this.key = key;
    this.#core = core;
    this.#options = options;
    const lock = { ...shared(options), renew: true, maxHold: atMost };
    this.#acquirer = new Acquirer(core, { key, capacity: 1 }, lock, keptLease);
  }

  /**
   * Does the work, unless another machine does, or did so less than `atLeast` ms ago, or, with a
   * `slot`, unless this slot has had its run. Resolves to what came of it: being skipped is no
   * error.
   *
   * The lock is renewed while the work runs, for `atMost` ms. It ends `atLeast` ms after it was
   * taken or when the work ends, whichever is later; should the process end before, the store ends
   * it by itself, by its own clock, at most one ttl late. After a crash it ends one ttl after the
   * last renewal, and not before `atLeast`.
   *
   * Rejects with the work's own error; with `HOLDFAST_LOST` if the lock was lost before the work
   * had ended (the work was done, but not alone for sure); with `HOLDFAST_UNCERTAIN` if the store
   * fell silent before the work began; and as `Mutex.acquire` does, without `HOLDFAST_TIMEOUT`. In
   * the latter two cases the work was not begun.
   */
  async runOnce<T>(
    work: (run: ScheduledRun) => T | Promise<T>,
    options: RunOnceOptions = {},
  ): Promise<Ran<T> | Skipped> {
    checkWork(work);
    known('options', options, RUN);
    const { slot, ...waiting } = options;
    const marked = slot === undefined ? undefined : slotKey(this.key, slot);
    this.#acquirer.terms(waiting, 0);
    if (marked !== undefined) {
      const holder = await this.#holder(marked);
      if (holder !== null) return { ran: false, why: 'slot-taken', holder };
    }
    const lease = await this.#acquirer.tryAcquire(1, waiting);
    if (lease === null) {
      const holder = (await quietly(this.#holder(this.key))) ?? null;
      return { ran: false, why: 'busy', holder };
    }
    const marker = await this.#prepare(lease, marked);
    if (marker !== null) return this.#run(lease, marker, () => work(new ScheduledRun(lease, slot)));
    await quietly(lease.release());
    const holder = (await quietly(this.#holder(marked as string))) ?? null;
    return { ran: false, why: 'slot-taken', holder };
  }

  /**
   * Makes the run one that counts. Resolves to the marker of the slot, to `undefined` without a
   * slot, and to `null` if the slot is taken. Nothing is held when it rejects.
   */
  async #prepare(
    lease: KeptLease,
    marked: string | undefined,
  ): Promise<KeptLease | null | undefined> {
    let marker: KeptLease | null | undefined;
    try {
      if (marked !== undefined) marker = await this.#mark(marked);
      if (marker !== null) await lease.keep(this.#options.atLeast);
      return marker;
    } catch (error) {
      await undo([lease, marker]);
      throw error;
    }
  }

  /** Marks a slot as taken; `null` if it is. */
  async #mark(key: string): Promise<KeptLease | null> {
    const ttl = this.#options.remember ?? HOUR;
    const options = { ...shared(this.#options), ttl, renew: false };
    const subject = { key, capacity: 1 };
    return new Acquirer(this.#core, subject, options, keptLease).tryAcquire(1);
  }

  async #run<T>(
    lease: KeptLease,
    marker: KeptLease | undefined,
    work: () => T | Promise<T>,
  ): Promise<Ran<T>> {
    const { fence } = lease;
    const forgiving = this.#options.onFailure === 'release';
    // nothing here is to give it back, a close in the middle of the work neither
    if (!forgiving) marker?.leave();
    let value: T;
    try {
      value = await work();
    } catch (error) {
      if (forgiving) await undo([lease, marker]);
      else await quietly(lease.end());
      throw error;
    }
    const loss = (await lease.verify()) ? undefined : lease.loss;
    if (forgiving) marker?.leave();
    const outcome = await quietly(lease.end());
    if (loss !== undefined || outcome === 'lost') throw loss ?? lease.loss;
    return { ran: true, value, fence };
  }

  async #holder(key: string): Promise<HolderInfo | null> {
    return (await inspect(this.#core, key, 1))?.holders[0] ?? null;
  }
}

/** Gives back what there is, at the same time. */
async function undo(leases: readonly (KeptLease | null | undefined)[]): Promise<void> {
  await Promise.all(leases.map(async (one) => quietly(Promise.resolve(one?.release()))));
}

function keptLease(record: LeaseRecord, core: Core): KeptLease {
  return new KeptLease(record, core);
}

/** What the lock and the marker have in common: neither is passed on without the store. */
function shared({ ttl, label }: ScheduleOptions): LockOptions {
  return { fair: true, ...(ttl !== undefined && { ttl }), ...(label !== undefined && { label }) };
}

/**
 * The key of a slot's marker. The length at the end says where the slot begins, so that no two
 * pairs of key and slot share a marker, whatever characters are in them.
 */
function slotKey(key: string, slot: unknown): string {
  if (typeof slot !== 'string' || slot === '') throw badOption('slot', 'a non-empty string', slot);
  const fits = Buffer.byteLength(key) + Buffer.byteLength(slot) <= SLOT_BYTES_MAX;
  if (!fits || /\p{Surrogate}/u.test(slot)) {
    throw badOption(
      'slot',
      `well-formed, and of ${SLOT_BYTES_MAX} bytes at most with the key`,
      slot,
    );
  }
  return `${key}#${slot}#${slot.length}`;
}
