import type { Core } from '../acquire/core.js';
import { badOption, HoldfastError, isHoldfastError } from '../base/errors.js';
import { over } from '../base/given.js';
import type { Lease } from '../lease/lease.js';
import { checkLockKey, known } from '../base/checks.js';
import {
  ACQUIRE,
  type AcquireOptions,
  checkLockOptions,
  type LockOptions,
  type ResolvedAcquireOptions,
} from '../base/options.js';
import { type Acquirer, checkWork, workUnder } from './acquirer.js';
import { acquireAll } from './multi-acquire.js';
import { PlainMutex } from './plain-mutex.js';
import type { MultiLease } from './multi-lease.js';

export const ALL_OF_KEYS_MAX = 10_000;

/**
 * A lock on several keys: all of them or none. A repeated key counts once. Each lock is the mutex
 * of its key, so `AllOf` and that `Mutex` exclude each other.
 */
export class AllOf {
  /** The keys in the order in which `acquire` waits for them, each once. */
  readonly keys: readonly string[];
  readonly #core: Core;
  readonly #options: LockOptions;
  readonly #acquirers: readonly Acquirer<Lease>[];

  /** @internal */
  constructor(core: Core, targets: readonly (string | PlainMutex)[], options: LockOptions) {
    checkLockOptions(core.settings, options);
    this.#core = core;
    this.#options = over({ wait: core.settings.defaults.wait }, options);
    this.#acquirers = inOrder(acquirersOf(core, targets));
    this.keys = this.#acquirers.map(({ key }) => key);
  }

  /**
   * Acquires all the locks; waits without a limit, or for `wait` ms in total.
   *
   * If all are free, this takes one round trip. Otherwise the call waits in the queue of one lock
   * at a time, in the order of `keys`, and holds those before it. Callers of `allOf` cannot
   * deadlock each other, unless they hold locks from other calls.
   *
   * Fairness: that of each mutex. A lock that is granted out of order is released at once, so a
   * concurrent `tryAcquire` may fail although no caller keeps the lock.
   *
   * Cancellation: if `signal` aborts or the wait ends, the call leaves the queue and releases all
   * grants. Nothing is held after a rejection.
   *
   * Leases granted early are renewed during the wait. With `renew: false`, or after `maxHold`, one
   * may end before the last is granted: then all are released, and the call rejects with
   * `HOLDFAST_LOST`, as after a forced release.
   *
   * Rejects with `HOLDFAST_TIMEOUT` (its `key` is the awaited lock), `HOLDFAST_LOST`, and otherwise
   * as `Mutex.acquire` does.
   */
  async acquire(options?: AcquireOptions): Promise<MultiLease> {
    const lease = await this.#acquire(options, Number.POSITIVE_INFINITY);
    if (lease !== null) return lease;
    const { length } = this.keys;
    throw new HoldfastError('HOLDFAST_TIMEOUT', `Holdfast: not all of ${length} keys were free`);
  }

  /**
   * As `Mutex.tryAcquire`, for all the locks. Without `wait` it takes one round trip, and a second
   * one to release a part that was granted.
   */
  async tryAcquire(options?: AcquireOptions): Promise<MultiLease | null> {
    try {
      return await this.#acquire(options, 0);
    } catch (error) {
      if (isHoldfastError(error, 'HOLDFAST_TIMEOUT')) return null;
      throw error;
    }
  }

  /**
   * As `Mutex.run`, under all the locks: `HOLDFAST_LOST` if a lease is lost before the work ends.
   */
  async run<T>(work: (lease: MultiLease) => T | Promise<T>, options?: AcquireOptions): Promise<T> {
    checkWork(work);
    return this.#core.telemetry.run(this.keys[0] as string, async () => {
      const lease = await this.acquire(options);
      // also if another release had no answer
      const isLost = (): boolean => [...lease.outcomes.values()].includes('lost');
      return workUnder(lease, work, options?.signal, isLost);
    });
  }

  async #acquire(options: AcquireOptions = {}, wait: number): Promise<MultiLease | null> {
    known('options', options, ACQUIRE);
    const given = over(this.#options, options);
    // the `wait` of a mutex does not count
    const own = wait === 0 ? options.wait : given.wait;
    const all = { ...given, wait: own === undefined ? wait : own };
    // all are checked before the first request
    const terms = this.#acquirers.map((acquirer) => acquirer.terms(all, wait));
    const limits = terms[0] as ResolvedAcquireOptions;
    return acquireAll(this.#core, this.#acquirers, all, limits);
  }
}

function acquirersOf(core: Core, targets: readonly (string | PlainMutex)[]): Acquirer<Lease>[] {
  const expected = `1 to ${ALL_OF_KEYS_MAX} keys or mutexes`;
  if (!Array.isArray(targets) || targets.length === 0) throw badOption('keys', expected, targets);
  const acquirers = new Map<string, Acquirer<Lease>>();
  for (const target of targets) {
    const acquirer = target instanceof PlainMutex ? target.acquirer : undefined;
    if (acquirer !== undefined && acquirer.core !== core) {
      throw badOption('keys', 'mutexes of the same Holdfast', target);
    }
    const key = acquirer?.key ?? checkLockKey(target);
    if (acquirers.has(key)) continue;
    acquirers.set(key, acquirer ?? new PlainMutex(core, key, {}).acquirer);
  }
  if (acquirers.size <= ALL_OF_KEYS_MAX) return [...acquirers.values()];
  throw badOption('keys', expected, targets);
}

/** Equal in all processes: by UTF-16 code units, whatever the locale. */
function inOrder(acquirers: Acquirer<Lease>[]): Acquirer<Lease>[] {
  return acquirers.sort((a, b) => (a.key < b.key ? -1 : 1));
}
