/**
 * Several mutexes as one lock: all of them or none. A thin face on as many mutexes, taken in one
 * global order; how, and why that cannot deadlock, is in `gather.ts`.
 */
import type { Core } from '../core.js';
import { badOption, HoldfastError, isHoldfastError } from '../errors.js';
import { over } from '../given.js';
import type { Lease } from '../lease/lease.js';
import { checkKey, checkObject } from '../checks.js';
import {
  type AcquireOptions,
  checkLockOptions,
  type LockOptions,
  type ResolvedAcquireOptions,
} from '../options.js';
import { checkWork, Acquirer, plainLease, quietly } from './acquirer.js';
import { MultiAcquire } from './multi-acquire.js';
import { Mutex } from './mutex.js';
import { MultiLease } from './multi-lease.js';

/** Most keys that can be taken together. */
export const ALL_OF_KEYS_MAX = 10_000;

/**
 * The locks of several keys, taken together.
 *
 * The order in which keys are named means nothing, and a key that is named twice counts once. Each
 * is the mutex of its key: whoever takes one of them alone excludes, and is excluded.
 */
export class AllOf {
  /** What is locked: each key once, in the order in which locks are waited for. */
  readonly keys: readonly string[];
  readonly #core: Core;
  readonly #options: LockOptions;
  readonly #acquirers: readonly Acquirer<Lease>[];

  /** @internal */
  constructor(core: Core, targets: readonly (string | Mutex)[], options: LockOptions) {
    checkLockOptions(core.settings, options);
    this.#core = core;
    this.#options = options;
    this.#acquirers = inOrder(facesOf(core, targets));
    this.keys = this.#acquirers.map(({ key }) => key);
  }

  /**
   * Takes all the locks; waits for as long as it takes, or for `wait` ms in all.
   *
   * If all are free this is one round trip. Otherwise it waits in the queue of one lock at a time,
   * in the order of `keys`, and holds those before it meanwhile. Callers of `allOf` cannot deadlock
   * one another, however they name the keys. Who holds a lock already and asks for more with
   * another call can: `allOf` does not know what was taken elsewhere.
   *
   * Fairness: each queue is that of its mutex. A lock that was granted out of order is given back
   * at once, so others may be refused a lock that nobody keeps.
   *
   * Cancellation: a `signal` that aborts, or a wait that ends, gives up the place in the queue and
   * gives back what was granted. Nothing is kept when it rejects.
   *
   * Leases are renewed while others are waited for. Where they are not (`renew: false`), or no
   * further (`maxHold`), the first may end before the last is granted: then all are given back, and
   * it rejects with `HOLDFAST_LOST`, as when one of them is ended by force.
   *
   * Rejects with `HOLDFAST_TIMEOUT` (its `key` is the one that was waited for), `HOLDFAST_LOST`,
   * and otherwise as `Mutex.acquire` does.
   */
  async acquire(options?: AcquireOptions): Promise<MultiLease> {
    const lease = await this.#acquire(options, Number.POSITIVE_INFINITY);
    if (lease !== null) return lease;
    const { length } = this.keys;
    throw new HoldfastError('HOLDFAST_TIMEOUT', `Holdfast: not all of ${length} keys were free`);
  }

  /**
   * Takes all the locks if all are free, or become free within `wait` ms (0 unless given); resolves
   * to `null` if not. Without `wait` it is one round trip to ask, and one to give back what was
   * granted in vain. Rejects as `acquire` does, but never with `HOLDFAST_TIMEOUT`.
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
   * Takes all the locks, does the work, and releases them: also when the work throws.
   *
   * Resolves to the work's result; rejects with the work's own error, with what `acquire` rejects
   * with, or with `HOLDFAST_LOST` if one of the leases was lost before the work had ended.
   */
  async run<T>(work: (lease: MultiLease) => T | Promise<T>, options?: AcquireOptions): Promise<T> {
    checkWork(work);
    const lease = await this.acquire(options);
    let result: T;
    try {
      result = await work(lease);
    } catch (error) {
      await quietly(lease.release());
      throw error;
    }
    await quietly(lease.release());
    if ([...lease.outcomes.values()].includes('lost')) throw lease.loss;
    return result;
  }

  async #acquire(options: AcquireOptions = {}, wait: number): Promise<MultiLease | null> {
    checkObject('options', options);
    const all = over(this.#options, options);
    // what the call says is checked before anything is sent, also where mutexes differ
    const terms = this.#acquirers.map((acquirer) => acquirer.terms(all, wait));
    const gathering = new MultiAcquire(
      this.#core.clock,
      this.#acquirers,
      all,
      terms[0] as ResolvedAcquireOptions,
    );
    const gathered = await gathering.take();
    return gathered === null ? null : new MultiLease(gathered);
  }
}

function facesOf(core: Core, targets: readonly (string | Mutex)[]): Acquirer<Lease>[] {
  const expected = `1 to ${ALL_OF_KEYS_MAX} keys or mutexes`;
  if (!Array.isArray(targets) || targets.length === 0) throw badOption('keys', expected, targets);
  const acquirers = new Map<string, Acquirer<Lease>>();
  for (const target of targets) {
    const acquirer = target instanceof Mutex ? target.acquirer : undefined;
    if (acquirer !== undefined && acquirer.core !== core) {
      throw badOption('keys', 'mutexes of the same Holdfast', target);
    }
    const key = acquirer?.key ?? checkKey(target);
    if (acquirers.has(key)) continue;
    acquirers.set(key, acquirer ?? new Acquirer(core, { key, capacity: 1 }, {}, plainLease));
  }
  if (acquirers.size <= ALL_OF_KEYS_MAX) return [...acquirers.values()];
  const message = `Holdfast: option "keys" must be ${expected}, not ${acquirers.size} of them`;
  throw new HoldfastError('HOLDFAST_BAD_OPTION', message, { option: 'keys' });
}

/** The one order for all processes: by the characters' codes, whatever the locale. */
function inOrder(acquirers: Acquirer<Lease>[]): Acquirer<Lease>[] {
  return acquirers.sort((a, b) => (a.key < b.key ? -1 : 1));
}
