/**
 * Locks by calls that name key and owner, without a lease object: all that is known of them is in
 * the store, so any process that knows the owner may go on.
 *
 *     free --lock--> one hold --lock--> two holds --unlock--> one hold --unlock--> free
 *     any number of holds --expiry, force--> free
 *
 * A hold is an acquisition with an id of its own, as everywhere; the store joins those of one owner
 * in one lease (`Acquire.owner`). Who unlocks looks which acquisitions hold the owner's lease, and
 * gives back one of them by its id. So a repeated or late unlock ends the hold that it chose or
 * nothing, never a stranger's nor a newer one (I3, I8). Two that choose the same hold at the same
 * time find that out, since one of them ended nothing, and that one chooses again.
 *
 * This process keeps nothing of what it locked, unless it was asked to renew it.
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

/** Holds that are looked at to choose one of; an owner may have more. */
const SHOWN = 20;
/** How often another hold is chosen when the one that was chosen is gone. */
const TRIES = 20;
const EXPIRY_MS_MIN = 10;
const EXPIRY_MS_MAX = 86_400_000;

/** What a lock of an owner may say. */
export interface OwnerLockOptions
  extends Pick<AcquireOptions, 'fair' | 'label' | 'signal' | 'wait'> {
  /**
   * Renew the lock for as long as this process lives and it is locked. It is given back then when
   * this `Holdfast` closes. Default `false`.
   */
  readonly renew?: boolean;
}

/**
 * `lock`, `unlock` and `renew` with key, owner and expiry, for those who port from Java.
 *
 * The lock of a key is its mutex: leases of `holdfast.mutex(key)` exclude, and are excluded. An
 * owner is a name, of a thread, a job or a request, that nobody else uses; who knows it is the
 * owner, in whatever process. Prefer leases where you can: a lease cannot be unlocked by mistake,
 * is renewed, and tells when it is lost.
 */
export class OwnerLocks {
  readonly #core: Core;
  /** The last call of each key and owner that ends a hold: they go one after another here. */
  readonly #turns = new Map<string, Promise<unknown>>();

  /** @internal */
  constructor(core: Core) {
    this.#core = core;
  }

  /**
   * Locks for an owner, or adds a hold to the lock that the owner has; waits for as long as it
   * takes, or for `wait` ms. Resolves to the fence, which is the same for all holds of one lock.
   *
   * The lock ends `expiryMs` after it was granted, and a further hold makes it last for at least
   * `expiryMs` from then, in the time of the store. Nothing tells when it has ended. It stays in
   * the store when this process ends or its `Holdfast` closes.
   *
   * Fairness, cancellation and errors are those of `Mutex.acquire`. A request that the network
   * delivers once more after the unlock may lock again, until `expiryMs` have passed.
   * @param expiryMs 10 to 86,400,000; anything else rejects with `HOLDFAST_BAD_OPTION`
   */
  async lock(
    key: string,
    owner: string,
    expiryMs: number,
    options?: OwnerLockOptions,
  ): Promise<number> {
    const fence = await this.#lock(key, owner, expiryMs, options, Number.POSITIVE_INFINITY);
    if (fence === null) throw failures.timedOut(key, 0);
    return fence;
  }

  /**
   * Locks as `lock` does if it is free, the owner's already, or becomes so within `wait` ms (0
   * unless given). Resolves to the fence, or to `null`.
   */
  async tryLock(
    key: string,
    owner: string,
    expiryMs: number,
    options?: OwnerLockOptions,
  ): Promise<number | null> {
    try {
      return await this.#lock(key, owner, expiryMs, options, 0);
    } catch (error) {
      if (isHoldfastError(error, 'HOLDFAST_TIMEOUT')) return null;
      throw error;
    }
  }

  /**
   * Ends one hold of the owner; with the last of them the lock is free, or the next waiter's.
   * Resolves to `false`, and does nothing, if the lock is not the owner's (any more).
   *
   * Rejects with `HOLDFAST_UNREACHABLE` if nothing was ended, and with `HOLDFAST_UNCERTAIN` if the
   * store did not say; it is tried further then, so ask `holds` before you unlock again.
   */
  unlock(key: string, owner: string): Promise<boolean> {
    return this.#inTurn(key, owner, async () => {
      for (let tries = 0; tries < TRIES; tries++) {
        const lease = await this.#leaseOf(key, owner);
        if (lease === undefined) return false;
        const id = this.#choose(lease.ids);
        if ((await this.#core.end(key, id, lease.left / 1000)) !== 'lost') return true;
      }
      throw this.#crowded(key);
    });
  }

  /**
   * Makes the owner's lock last for at least `expiryMs` from now; never shortens it. Resolves to
   * `false`, and does nothing, if the lock is not the owner's (any more): a stranger's renewal is
   * refused, and nothing that has ended is revived.
   *
   * Rejects with `HOLDFAST_UNREACHABLE` if the store could not be asked, and with
   * `HOLDFAST_UNCERTAIN` if it did not answer; repeating it does no harm.
   */
  async renew(key: string, owner: string, expiryMs: number): Promise<boolean> {
    checkExpiry(expiryMs);
    const { retention } = this.#core.settings;
    for (let tries = 0; tries < TRIES; tries++) {
      const lease = await this.#leaseOf(key, owner);
      if (lease === undefined) return false;
      const id = this.#choose(lease.ids);
      const command = { op: 'renew', key, id, ttl: Math.ceil(expiryMs), retention } as const;
      const { status } = await ask(this.#core, command, 'HOLDFAST_UNCERTAIN');
      if (status === 'renewed') return true;
    }
    throw this.#crowded(key);
  }

  /** How many holds the owner has; 0 if the lock is not the owner's. */
  async holds(key: string, owner: string): Promise<number> {
    return (await this.#leaseOf(key, owner))?.holds ?? 0;
  }

  async #lock(
    key: string,
    owner: string,
    expiryMs: number,
    options: OwnerLockOptions = {},
    wait: number,
  ): Promise<number | null> {
    checkKey(key);
    checkExpiry(expiryMs);
    checkObject('options', options);
    const own = { ttl: expiryMs, owner: checkOwner(owner) };
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

  /** One of this process's own, if it has one: others are less likely to choose that. */
  #choose(ids: readonly string[]): string {
    const own = ids.filter((id) => id.startsWith(`${this.#core.id}.`));
    return (own.at(-1) ?? ids.at(-1)) as string;
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
    const what = `the holds of ${quote(key)} changed ${TRIES} times`;
    const message = `Holdfast: ${what} while one was chosen`;
    return new HoldfastError('HOLDFAST_UNREACHABLE', message, { key });
  }
}

function checkExpiry(value: unknown): void {
  if (typeof value === 'number' && value >= EXPIRY_MS_MIN && value <= EXPIRY_MS_MAX) return;
  const expected = `a number of milliseconds from ${EXPIRY_MS_MIN} to ${EXPIRY_MS_MAX}`;
  throw badOption('expiryMs', expected, value);
}
