/**
 * The read-write lock: readers share, a writer is alone. A thin face: of very many permits a reader
 * takes one and a writer takes all.
 *
 * First come, first served: a writer at the head of the queue is waited for, so readers that come
 * later stay behind it, and readers that stand together enter together. Every reader has a lease of
 * its own.
 */
import type { Core } from '../core.js';
import type { AcquireOptions, LockOptions } from '../options.js';
import { Acquirer } from './acquirer.js';
import { READER, RwLease, WRITER } from './rw-lease.js';

/**
 * One side of a read-write lock.
 *
 * Fairness: requests of both sides are served strictly in the order of their arrival at the store;
 * nobody is overtaken, with `fair: true` or without.
 */
export class RwSide {
  readonly #acquirer: Acquirer<RwLease>;
  readonly #weight: number;

  /** @internal */
  constructor(acquirer: Acquirer<RwLease>, weight: number) {
    this.#acquirer = acquirer;
    this.#weight = weight;
  }

  /** What is locked. */
  get key(): string {
    return this.#acquirer.key;
  }

  /**
   * Takes this side of the lock; waits for as long as it takes, or for `wait` ms.
   *
   * Cancellation: a `signal` that aborts, or a wait that ends, gives up the place in the queue; a
   * grant that was on its way is given back. Nothing is held when it rejects.
   *
   * Rejects with `HOLDFAST_TIMEOUT`, `HOLDFAST_ABORTED`, `HOLDFAST_REFUSED` (among others if the
   * `owner` holds the read side and asks for the write side: it would wait for itself),
   * `HOLDFAST_MISMATCH` (the key is another kind of lock), `HOLDFAST_UNREACHABLE`,
   * `HOLDFAST_CLOSED` or `HOLDFAST_BAD_OPTION`.
   */
  acquire(options?: AcquireOptions): Promise<RwLease> {
    return this.#acquirer.acquire(this.#weight, options);
  }

  /**
   * Takes this side of the lock if it is free for it, or becomes so within `wait` ms (0 unless
   * given); resolves to `null` if not.
   *
   * It never overtakes: with others in the queue, the lock is not free for a newcomer, and for a
   * reader neither. Rejects as `acquire` does, but never with `HOLDFAST_TIMEOUT`.
   */
  tryAcquire(options?: AcquireOptions): Promise<RwLease | null> {
    return this.#acquirer.tryAcquire(this.#weight, options);
  }

  /**
   * Takes this side of the lock, does the work, and releases: also when the work throws. What the
   * work did to the lease's side (`downgrade`, `tryUpgrade`) does not matter for that.
   *
   * Resolves and rejects as `run` of a mutex does.
   */
  run<T>(work: (lease: RwLease) => T | Promise<T>, options?: AcquireOptions): Promise<T> {
    return this.#acquirer.run(this.#weight, work, options);
  }
}

/**
 * A lock that many read or one writes, across processes and machines.
 *
 * Making one costs nothing and asks nobody: the lock exists in the store while it is held or waited
 * for. A crashed reader is in a writer's way until its own lease ends, and no longer.
 */
export class RwLock {
  /** What is locked. */
  readonly key: string;
  /** For those who may share. */
  readonly read: RwSide;
  /** For those who must be alone. */
  readonly write: RwSide;

  /** @internal */
  constructor(core: Core, key: string, options: LockOptions) {
    const subject = { key, capacity: WRITER, strict: true };
    const acquirer = new Acquirer(core, subject, options, (record) => new RwLease(record, core));
    this.key = key;
    this.read = new RwSide(acquirer, READER);
    this.write = new RwSide(acquirer, WRITER);
  }
}
