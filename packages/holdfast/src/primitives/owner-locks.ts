/**
 * Locks that calls address by key and owner, without a lease object. Their whole state is in the
 * store, so any process that knows the owner's name can continue.
 *
 *     free --lock--> one hold --lock--> two holds --unlock--> one hold --unlock--> free
 *     any number of holds --expiry, force--> free
 *
 * Each hold is an acquisition with an id of its own; the store joins the holds of one owner in one
 * lease (`Acquire.owner`). `unlock` reads the ids of the owner's holds and releases one of them by
 * its id. So a repeated or late unlock ends the chosen hold or nothing; it never ends a hold of
 * another owner or a newer hold (I3, I8). If two calls choose the same hold, only one of them ends
 * it, and the other chooses again.
 *
 * This process keeps no state of a lock unless it was asked to renew it.
 */
import type { Core } from '../core.js';
import type { HolderView } from '../engine/commands.js';
import { badOption, HoldfastError, isHoldfastError } from '../errors.js';
import { over } from '../given.js';
import { ask } from '../inspection.js';
import { checkKey, checkObject, checkOwner } from '../checks.js';
import { type AcquireOptions, resolveTerms } from '../options.js';
import * as failures from '../acquire/failures.js';
import { quote } from '../text.js';

/** Number of holds to read for choosing one; an owner may have more. */
const SHOWN = 20;
/** How many times to choose again when the chosen hold has gone. */
const TRIES = 20;
const TTL_MIN = 10;
const TTL_MAX = 86_400_000;

/** Options of an owner's lock. */
export interface OwnerLockOptions
  extends Pick<AcquireOptions, 'fair' | 'label' | 'signal' | 'wait'> {
  /**
   * Renews the lock while it is locked and this process runs. Such a lock is released when this
   * `Holdfast` closes. Default `false`.
   */
  readonly renew?: boolean | undefined;
}

/**
 * `lock`, `unlock` and `renew` with key, owner and ttl, for programs that are ported from Java.
 *
 * The lock of a key is its mutex, so it and a lease of `holdfast.mutex(key)` exclude each other. An
 * owner is a unique name, for example of a thread, a job or a request. Every process that uses the
 * name acts as the owner. Prefer leases where possible: a lease cannot be unlocked by mistake, is
 * renewed, and reports its loss.
 */
export class OwnerLocks {
  readonly #core: Core;
  /** The last `unlock` of each key and owner; this process runs them one after another. */
  readonly #turns = new Map<string, Promise<unknown>>();

  /** @internal */
  constructor(core: Core) {
    this.#core = core;
  }

  /**
   * Locks for an owner, or adds a hold to the lock that the owner has. Waits without a limit, or
   * for `wait` ms. Resolves to the fence, which is the same for all holds of one lock.
   *
   * The lock ends `ttl` after it was granted; a further hold extends it to at least `ttl`
   * from then, by the store's clock. The end is not reported. The lock stays in the store until
   * then, also if this process ends or its `Holdfast` closes; with `renew: true`, closing releases
   * it.
   *
   * Fairness, cancellation and errors are those of `Mutex.acquire`. A late duplicate of the request
   * that arrives after the unlock may lock again, for at most `ttl`.
   * @param ttl 10 to 86,400,000; anything else rejects with `HOLDFAST_BAD_OPTION`
   */
  async lock(key: string, owner: string, ttl: number, options?: OwnerLockOptions): Promise<number> {
    let fence: number | null;
    try {
      fence = await this.#lock(key, owner, ttl, options, Number.POSITIVE_INFINITY);
    } catch (error) {
      throw await this.#core.explain(key, error);
    }
    if (fence === null) throw failures.timedOut(key, 0);
    return fence;
  }

  /**
   * Locks as `lock` does if the lock is free or already the owner's, or becomes free within `wait`
   * ms (default 0). Resolves to the fence, or to `null`.
   */
  async tryLock(
    key: string,
    owner: string,
    ttl: number,
    options?: OwnerLockOptions,
  ): Promise<number | null> {
    try {
      return await this.#lock(key, owner, ttl, options, 0);
    } catch (error) {
      if (isHoldfastError(error, 'HOLDFAST_TIMEOUT')) return null;
      throw failures.atCaller(error);
    }
  }

  /**
   * Ends one hold of the owner. After the last hold the lock is free or goes to the next waiter.
   * Resolves to `false`, and changes nothing, if the owner does not hold the lock (any more).
   *
   * Rejects with `HOLDFAST_UNREACHABLE` if no hold was ended, and with `HOLDFAST_UNCERTAIN` if the
   * store did not reply. In the latter case the unlock is retried in the background, so check
   * `holds` before you unlock again.
   */
  unlock(key: string, owner: string): Promise<boolean> {
    return this.#inTurn(key, owner, async () => {
      for (let tries = 0; tries < TRIES; tries++) {
        const lease = await this.#leaseOf(key, owner);
        if (lease === undefined) return false;
        // the store may have the hold of a call that has no reply yet: that call would add it again
        const id = this.#choose(lease.ids.filter((one) => !this.#core.isOpen(one)));
        if (id === undefined) return false;
        if ((await this.#core.end(key, id, lease.left / 1000)) !== 'lost') return true;
      }
      throw this.#crowded(key);
    });
  }

  /**
   * Extends the owner's lock to at least `ttl` from now; never shortens it. Resolves to
   * `false`, and changes nothing, if the owner does not hold the lock (any more): it never renews
   * the lock of another owner, and never revives a lock that has ended.
   *
   * Rejects with `HOLDFAST_UNREACHABLE` if the request was not sent, and with `HOLDFAST_UNCERTAIN`
   * if the store did not reply; it is safe to repeat.
   */
  async renew(key: string, owner: string, ttl: number): Promise<boolean> {
    checkTtl(ttl);
    const { retention } = this.#core.settings;
    for (let tries = 0; tries < TRIES; tries++) {
      const lease = await this.#leaseOf(key, owner);
      if (lease === undefined) return false;
      const id = this.#choose(lease.ids) as string;
      const command = { op: 'renew', key, id, ttl: Math.ceil(ttl), retention } as const;
      const { status } = await ask(this.#core, command, 'HOLDFAST_UNCERTAIN');
      if (status === 'renewed') return true;
    }
    throw this.#crowded(key);
  }

  /** The number of the owner's holds; 0 if the owner does not hold the lock. */
  async holds(key: string, owner: string): Promise<number> {
    return (await this.#leaseOf(key, owner))?.holds ?? 0;
  }

  async #lock(
    key: string,
    owner: string,
    ttl: number,
    options: OwnerLockOptions = {},
    wait: number,
  ): Promise<number | null> {
    checkKey(key);
    checkTtl(ttl);
    checkObject('options', options);
    const own = { ttl, sharedBy: checkOwner(owner) };
    const asked = { ...over({ renew: false }, options), ...own };
    const terms = resolveTerms(this.#core.settings, {}, asked, wait);
    const wanted = { key, weight: 1, capacity: 1, terms, stays: !terms.renew };
    return (await this.#core.acquire(wanted))?.fence ?? null;
  }

  async #leaseOf(key: string, owner: string): Promise<HolderView | undefined> {
    checkKey(key);
    checkOwner(owner);
    const { holders } = await ask(this.#core, { op: 'inspect', key, limit: SHOWN });
    return holders.find((holder) => holder.owner === owner);
  }

  /**
   * Prefers a hold of this process, because other processes are less likely to choose it. Of other
   * holds, the oldest: the call for the latest may have no reply yet.
   */
  #choose(ids: readonly string[]): string | undefined {
    const own = ids.filter((id) => id.startsWith(`${this.#core.id}.`));
    return own.at(-1) ?? ids[0];
  }

  async #inTurn<T>(key: string, owner: string, work: () => Promise<T>): Promise<T> {
    const name = JSON.stringify([key, owner]);
    const mine = (this.#turns.get(name) ?? Promise.resolve()).then(work, work);
    this.#turns.set(name, mine);
    try {
      return await mine;
    } finally {
      if (this.#turns.get(name) === mine) this.#turns.delete(name);
    }
  }

  #crowded(key: string): HoldfastError {
    const what = `the holds of ${quote(key)} changed during each of ${TRIES} attempts`;
    const message = `Holdfast: ${what} to choose one; try again`;
    return new HoldfastError('HOLDFAST_UNREACHABLE', message, { key });
  }
}

function checkTtl(value: unknown): void {
  if (typeof value === 'number' && value >= TTL_MIN && value <= TTL_MAX) return;
  const expected = `a number of milliseconds from ${TTL_MIN} to ${TTL_MAX}`;
  throw badOption('ttl', expected, value);
}
