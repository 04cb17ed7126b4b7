/** The read-write lock: a reader takes one permit, a writer all. */
import type { Core } from '../acquire/core.js';
import { known } from '../base/checks.js';
import { type AcquireOptions, LOCK, type LockOptions, withDefaults } from '../base/options.js';
import { Acquirer } from './acquirer.js';
import { placeOf, stateOf } from './lock-state.js';
import { READER, RwLease, WRITER } from './rw-lease.js';

/**
 * One side of a read-write lock. Both sides are served strictly in the order of arrival at the
 * store, with or without `fair`: readers wait behind a queued writer, and adjacent readers are
 * granted together.
 */
export class RwSide {
  readonly #acquirer: Acquirer<RwLease>;
  readonly #weight: number;

  /** @internal */
  constructor(acquirer: Acquirer<RwLease>, weight: number) {
    this.#acquirer = acquirer;
    this.#weight = weight;
  }

  get key(): string {
    return this.#acquirer.key;
  }

  /**
   * Acquires this side of the lock. Waiting and cancellation are those of `Mutex.acquire`.
   *
   * Rejects as `Mutex.acquire` does, with `HOLDFAST_MISMATCH` if the key is another kind of lock,
   * and with `HOLDFAST_REFUSED` if the same `sharedBy` holds the read side and requests the write
   * side: it would wait for itself.
   */
  acquire(options?: AcquireOptions): Promise<RwLease> {
    return this.#acquirer.acquire(this.#weight, options);
  }

  /** As `Mutex.tryAcquire`, for this side. With a queue, neither side is available. */
  tryAcquire(options?: AcquireOptions): Promise<RwLease | null> {
    return this.#acquirer.tryAcquire(this.#weight, options);
  }

  /** As `Mutex.run`, under this side, also if the work changes the side. */
  run<T>(work: (lease: RwLease) => T | Promise<T>, options?: AcquireOptions): Promise<T> {
    return this.#acquirer.run(this.#weight, work, options);
  }

  /** True if any process holds this side, see `Mutex.isLocked`. */
  async isLocked(): Promise<boolean> {
    const { kind, holders } = await stateOf(this.#acquirer.core, this.key);
    // a mutex has a reader's weight
    return kind === 'rw-lock' && holders[0]?.weight === this.#weight;
  }

  /** Counts both sides together, see `Mutex.place`. */
  place(): Promise<number | null> {
    return placeOf(this.#acquirer.core, this.key);
  }
}

/**
 * A lock with many readers or one writer, across processes and machines. A crashed reader blocks a
 * writer only until its own lease ends.
 */
export class RwLock {
  readonly key: string;
  readonly read: RwSide;
  readonly write: RwSide;

  /** @internal */
  constructor(core: Core, key: string, options: LockOptions) {
    const { maxHold } = core.settings.defaults;
    const mutual = { key, kind: 'rw-lock', capacity: WRITER, strict: true } as const;
    const subject = { ...mutual, maxHold };
    known('options', options, LOCK);
    const own = withDefaults(core.settings, options);
    const acquirer = new Acquirer(core, subject, own, RwLease);
    this.key = key;
    this.read = new RwSide(acquirer, READER);
    this.write = new RwSide(acquirer, WRITER);
  }
}
