import type { Core } from '../acquire/core.js';
import type { InspectReply } from '../engine/commands.js';
import { badOption, type HoldfastError } from '../base/errors.js';
import { ask } from './inspection.js';
import { Lease } from '../lease/lease.js';
import type { Hold } from '../lease/root.js';
import { known, whole } from '../base/checks.js';
import { markerKey } from '../base/marker-key.js';
import {
  ACQUIRE,
  type AcquireOptions,
  LOCK,
  type LockOptions,
  withDefaults,
} from '../base/options.js';
import type { AcquireRequest } from '../acquire/call.js';
import * as failures from '../acquire/failures.js';
import { checkWork, Acquirer, type Subject } from './acquirer.js';
import type { WaitOptions } from './gate-options.js';
import { placeOf, poll, stateOf, unlessEnded } from './lock-state.js';
import { SemaphoreLease } from './semaphore-lease.js';

const PERMITS_MAX = 1_000_000;
/** How often to follow a changing number in use. */
const TRIES = 10;

export interface SemaphoreOptions extends LockOptions {
  /** The total number, the same for all users of the key. 1 to 1,000,000. */
  readonly permits: number;
  /**
   * If the key is in use with another number of permits: `reject` rejects the call with
   * `HOLDFAST_MISMATCH`, `adopt` continues with the number in use. With `adopt` in all processes,
   * the number may change while some still run with the old one. Default `reject`.
   */
  readonly onMismatch?: 'reject' | 'adopt' | undefined;
}

export interface SemaphoreRunOptions extends AcquireOptions {
  /** As in `acquire`. */
  readonly permits?: number | undefined;
}

const SEMAPHORE: ReadonlySet<string> = new Set([...LOCK, 'permits', 'onMismatch']);
const RUN: ReadonlySet<string> = new Set([...ACQUIRE, 'permits']);

/**
 * A fixed number of permits, shared by processes and machines. Each acquisition is one lease: the
 * permits of a crashed process are free when it expires. The semaphore is in the store only while
 * permits are held or it has waiters.
 *
 * Fairness: requests are served strictly in the order of arrival at the store, with or without
 * `fair`: later ones wait behind a large one at the head of the queue.
 */
export class Semaphore {
  readonly key: string;
  readonly #core: Core;
  readonly #options: LockOptions;
  readonly #adopts: boolean;
  #permits: number;
  /** The number in use, and until when requests begin with it. */
  #adopted = { permits: 0, until: 0 };
  #acquirer: Acquirer<SemaphoreLease>;

  /** @internal */
  constructor(core: Core, key: string, options = {} as SemaphoreOptions) {
    known('options', options, SEMAPHORE);
    const { permits, onMismatch, ...lockOptions } = options;
    this.key = key;
    this.#core = core;
    this.#options = withDefaults(core.settings, lockOptions);
    this.#permits = checkPermits(permits);
    this.#adopts = checkMismatch(onMismatch);
    this.#acquirer = this.#newAcquirer();
  }

  /** The total number, as this object requests it. */
  get permits(): number {
    const { permits, until } = this.#adopted;
    return this.#core.clock.now() < until ? permits : this.#permits;
  }

  /**
   * Acquires permits, all or none.
   *
   * Rejects as `Mutex.acquire` does, with `HOLDFAST_MISMATCH` if the key is in use with another
   * number of permits (the message names it), and with `HOLDFAST_REFUSED` if the same `sharedBy`
   * holds fewer permits: it would wait for itself.
   * @param permits 1 to all permits of the semaphore, default 1
   */
  async acquire(permits?: number, options?: AcquireOptions): Promise<SemaphoreLease> {
    return this.#acquirer.acquire(this.#wanted(permits), options);
  }

  /** As `Mutex.tryAcquire`, for permits. With a queue, no permit is free. */
  async tryAcquire(permits?: number, options?: AcquireOptions): Promise<SemaphoreLease | null> {
    return this.#acquirer.tryAcquire(this.#wanted(permits), options);
  }

  /** As `Mutex.run`, under permits. */
  async run<T>(
    work: (lease: SemaphoreLease) => T | Promise<T>,
    options: SemaphoreRunOptions = {},
  ): Promise<T> {
    checkWork(work);
    known('options', options, RUN);
    const { permits, ...rest } = options;
    return this.#acquirer.run(this.#wanted(permits), work, rest);
  }

  /**
   * Changes the total number of permits for all users of the key, while it is in use. If it grows,
   * waiters are granted the new permits. If it shrinks, holders keep theirs, and no request is
   * granted until enough are free; waiters that request more than the total are rejected with
   * `HOLDFAST_MISMATCH`.
   *
   * Afterwards this object requests with the new number, and others with the old one are rejected
   * with `HOLDFAST_MISMATCH`. Once no permit is held and no request waits, the next request sets
   * the number.
   *
   * Rejects with `HOLDFAST_MISMATCH` if the number in the store is not that of this object (with
   * `onMismatch: 'adopt'` it replaces any number) or the key is another kind of lock, and with
   * `HOLDFAST_UNCERTAIN` if the store does not reply; it is safe to repeat.
   */
  async setPermits(permits: number): Promise<void> {
    const capacity = checkPermits(permits);
    const { key } = this;
    const { retention } = this.#core.settings;
    let from = this.#permits;
    for (let tries = 1; ; tries++) {
      const command = { op: 'capacity', key, from, capacity, retention } as const;
      const reply = await ask(this.#core, command, 'HOLDFAST_UNCERTAIN');
      if (reply.status !== 'mismatch') break;
      const adopts = this.#adopts && reply.kind === 'semaphore';
      if (!adopts || tries === TRIES) throw this.#mismatch(from, reply);
      from = reply.capacity;
    }
    this.#use(capacity);
  }

  /**
   * Changes the total number by `by`, also if this object has another number; see
   * {@link Semaphore.setPermits}. Resolves to the new number. After `HOLDFAST_UNCERTAIN` the number
   * may have changed: do not just repeat the call.
   */
  async changePermits(by: number): Promise<number> {
    whole('by', by ?? null, 0, -PERMITS_MAX, PERMITS_MAX);
    // two equal changes at the same time would count as one
    const subject = { key: markerKey(this.key, 'permits'), kind: 'mutex', capacity: 1 } as const;
    const changes = new Acquirer(this.#core, subject, {}, Lease);
    return changes.run(1, () => this.#changePermits(by));
  }

  async #changePermits(by: number): Promise<number> {
    for (let tries = 1; ; tries++) {
      this.#follow(await stateOf(this.#core, this.key));
      try {
        await this.setPermits(this.#permits + by);
        return this.#permits;
      } catch (error) {
        if (tries === TRIES || failures.agreedOf(error) === undefined) throw error;
      }
    }
  }

  /**
   * The permits that are free now; 0 while requests wait. See `Mutex.isLocked`. Rejects with
   * `HOLDFAST_MISMATCH` if the key is another kind of lock.
   */
  async available(): Promise<number> {
    const state = await stateOf(this.#core, this.key);
    const known = this.#known(state);
    // the next request sets the number of an unused one
    const permits = state.used > 0 ? known : this.permits;
    return state.waiterCount > 0 ? 0 : Math.max(0, permits - state.used);
  }

  /** 0 if the store knows none. */
  #known(state: InspectReply): number {
    if (state.kind === 'semaphore') return state.capacity;
    const { holderCount, waiterCount, parkedCount } = state;
    if (holderCount + waiterCount + parkedCount === 0) return 0;
    throw this.#mismatch(this.permits, state);
  }

  #mismatch(capacity: number, used: failures.Used): HoldfastError {
    return failures.mismatch(
      { key: this.key, kind: 'semaphore', capacity, option: 'permits' },
      used,
    );
  }

  /** See `Mutex.place`. */
  place(): Promise<number | null> {
    return placeOf(this.#core, this.key);
  }

  /**
   * Acquires all permits that are free now, as one lease; `null` if there is none, or requests
   * wait. Rejects as `tryAcquire` does.
   */
  async drain(options?: AcquireOptions): Promise<SemaphoreLease | null> {
    for (let tries = 0; tries < TRIES; tries++) {
      const asked = (): Promise<number> => this.available();
      const available = await unlessEnded(this.#core, this.key, options?.signal, asked);
      const free = Math.min(available, this.permits);
      if (free === 0) return null;
      const lease = await this.tryAcquire(free, options);
      if (lease !== null) return lease;
    }
    return null;
  }

  /**
   * Waits until the semaphore has at least `permits` permits in total, free or not, and uses that
   * number from then on; false if `wait` ms pass before. Asks the store four times in a claim
   * window. Rejects with `HOLDFAST_MISMATCH` if the key is another kind of lock.
   */
  async whenPermits(permits: number, options: WaitOptions = {}): Promise<boolean> {
    checkPermits(permits);
    return poll(this.#core, this.key, options, (state) => {
      this.#follow(state);
      return this.#permits >= permits;
    });
  }

  #follow(state: InspectReply): void {
    const capacity = this.#known(state);
    const isUsed = state.used > 0 || state.waiterCount > 0;
    if (isUsed ? capacity !== 0 : capacity > this.#permits) this.#use(capacity);
  }

  #use(permits: number): void {
    this.#permits = permits;
    this.#adopted = { permits, until: 0 };
    this.#acquirer = this.#newAcquirer();
  }

  #wanted(permits: number | undefined): number {
    return whole('permits', permits, 1, 1, Math.max(this.#permits, this.permits));
  }

  #newAcquirer(): Acquirer<SemaphoreLease> {
    const subject: Subject = {
      ...{ key: this.key, kind: 'semaphore', capacity: this.#permits },
      ...{ option: 'permits', strict: true },
    };
    const send = (request: AcquireRequest): Promise<Hold | null> => this.#send(request);
    const adopting = this.#adopts ? { ...subject, send } : subject;
    const { maxHold } = this.#core.settings.defaults;
    return new Acquirer(this.#core, { ...adopting, maxHold }, this.#options, SemaphoreLease);
  }

  async #send(request: AcquireRequest): Promise<Hold | null> {
    const core = this.#core;
    const { terms, weight } = request;
    const until = core.clock.now() + terms.wait;
    for (let tries = 1; ; tries++) {
      const wait = tries === 1 ? terms.wait : Math.max(0, until - core.clock.now());
      try {
        const own = [this.permits, this.#permits].find((permits) => permits >= weight);
        const capacity = own ?? this.#adopted.permits;
        return await core.acquisitions.acquire({ ...request, capacity, terms: { ...terms, wait } });
      } catch (error) {
        const permits = failures.agreedOf(error) ?? 0;
        if (permits < weight || tries === TRIES) throw error;
        // then the own number again: the semaphore may be unused by then
        this.#adopted = { permits, until: core.clock.now() + core.settings.claimWindow };
      }
    }
  }
}

function checkPermits(permits: unknown): number {
  if (permits === undefined) throw badOption('permits', 'a whole number', permits);
  return whole('permits', permits, 1, 1, PERMITS_MAX);
}

function checkMismatch(value: unknown): boolean {
  if (value === undefined || value === 'reject' || value === 'adopt') return value === 'adopt';
  throw badOption('onMismatch', '"reject" or "adopt"', value);
}
