/**
 * Locks that calls address by key and owner. A process keeps no state of a lock that it does not
 * renew.
 *
 *     free --lock--> one hold --lock--> two holds --unlock--> one hold --unlock--> free
 *     any number of holds --expiry, force--> free
 *
 * Each hold is an acquisition with its own id; the store joins the holds of one owner in one lease
 * (`Acquire.owner`). Both have an end there, so `lock` and `renew` extend all of them. `unlock`
 * reads the ids and releases one by its id: repeated or late, it ends that hold or nothing, never
 * one of another owner or a newer one (I3, I8). If two calls choose the same hold, one of them
 * chooses again.
 */
import type { Core } from '../acquire/core.js';
import type { HolderView } from '../engine/commands.js';
import { HOLD_LIMIT } from '../engine/limits.js';
import { badOption, HoldfastError, isHoldfastError } from '../base/errors.js';
import { over } from '../base/given.js';
import { quietly } from './acquirer.js';
import { ask } from './inspection.js';
import { checkLockKey, checkOwner, known } from '../base/checks.js';
import { type AcquireOptions, resolveTerms } from '../base/options.js';
import * as failures from '../acquire/failures.js';
import { quote } from '../base/text.js';

/** How many holds are read first to choose one. */
const SHOWN = 20;
const TRIES = 20;
const MADE_HERE = '-owner';
const OPTIONS: ReadonlySet<string> = new Set(['fair', 'label', 'signal', 'wait', 'renew']);
const TTL_MIN = 10;
const TTL_MAX = 86_400_000;

export interface OwnerLockOptions
  extends Pick<AcquireOptions, 'fair' | 'label' | 'signal' | 'wait'> {
  /**
   * Renews the lock while it is locked and this process runs; closing the `Holdfast` then releases
   * it. Default `false`.
   */
  readonly renew?: boolean | undefined;
}

/**
 * `lock`, `unlock` and `renew` with key, owner and ttl, for programs that are ported from Java.
 *
 * The lock of a key is its mutex, so it and a lease of `holdfast.mutex(key)` exclude each other. An
 * owner is a unique name, for example of a thread, a job or a request; every process that uses it
 * acts as the owner. Prefer leases: they cannot be unlocked by mistake, are renewed, and report
 * their loss.
 */
export class OwnerLocks {
  readonly #core: Core;
  /** The last `unlock` by key and owner; they run one after another. */
  readonly #turns = new Map<string, Promise<unknown>>();

  /** @internal */
  constructor(core: Core) {
    this.#core = core;
  }

  /**
   * Locks for an owner, or adds a hold to its lock. Resolves to the fence, the same for all holds
   * of one lock.
   *
   * The lock ends `ttl` after it was granted, by the store's clock; a further hold extends it to at
   * least `ttl` from then. The end is not reported. The lock stays in the store until then, also if
   * this process ends or its `Holdfast` closes; with `renew: true`, closing releases it.
   *
   * Waiting, fairness, cancellation and errors are those of `Mutex.acquire`. A duplicate of the
   * request that arrives after the unlock may lock again, for at most `ttl`.
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
   * Locks if the lock is free or the owner's, or becomes so within `wait` ms (default 0). Resolves
   * to the fence, or to `null`; rejects as `lock` does.
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
   * Ends one hold of the owner. After the last one the lock is free or goes to the next waiter.
   * Resolves to `false`, and changes nothing, if the owner does not hold the lock (any more), or
   * only with leases that another process acquired with `sharedBy`: their holders release them.
   *
   * Rejects with `HOLDFAST_UNREACHABLE` if no hold was ended, and with `HOLDFAST_UNCERTAIN` if the
   * store did not reply. The unlock is then retried in the background, so check `holds` before you
   * unlock again.
   */
  async unlock(key: string, owner: string): Promise<boolean> {
    checkLockKey(key);
    checkOwner(owner);
    return this.#inTurn(key, owner, async () => {
      let limit = SHOWN;
      for (let tries = 0; tries < TRIES; tries++) {
        const lease = await this.#leaseOf(key, owner, limit);
        if (lease === undefined) return false;
        // a call without a reply yet would add its hold again
        const id = this.#choose(lease.ids.filter((one) => this.#mayEnd(one)));
        if (id === undefined) {
          if (lease.ids.length >= lease.holds || limit === HOLD_LIMIT) return false;
          limit = HOLD_LIMIT;
          continue;
        }
        const { releaser } = this.#core;
        const ended = releaser.end(key, id, lease.left / 1000, id.endsWith(MADE_HERE));
        if ((await ended) !== 'lost') return true;
      }
      throw this.#crowded(key);
    });
  }

  /**
   * Extends the owner's lock to at least `ttl` from now; never shortens it. Resolves to `false`,
   * and changes nothing, if the owner does not hold the lock (any more).
   *
   * Rejects with `HOLDFAST_UNREACHABLE` if the request was not sent, and with `HOLDFAST_UNCERTAIN`
   * if the store did not reply; it is safe to repeat.
   */
  async renew(key: string, owner: string, ttl: number): Promise<boolean> {
    checkTtl(ttl);
    for (let tries = 0; tries < TRIES; tries++) {
      const renewed = await this.#extend(key, owner, ttl);
      if (renewed !== undefined) return renewed;
    }
    throw this.#crowded(key);
  }

  /** False without a hold, `undefined` if all ended meanwhile. */
  async #extend(key: string, owner: string, ttl: number): Promise<boolean | undefined> {
    const lease = await this.#leaseOf(key, owner, HOLD_LIMIT);
    if (lease === undefined) return false;
    const { retention } = this.#core.settings;
    const replies = lease.ids.map((id) => {
      const command = { op: 'renew', key, id, ttl: Math.ceil(ttl), retention } as const;
      return ask(this.#core, command, 'HOLDFAST_UNCERTAIN');
    });
    const renewed = (await Promise.all(replies)).some(({ status }) => status === 'renewed');
    return renewed || undefined;
  }

  /** The owner's holds; 0 if it does not hold the lock. */
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
    checkLockKey(key);
    checkTtl(ttl);
    known('options', options, OPTIONS);
    const own = { ttl, sharedBy: checkOwner(owner) };
    const asked = { ...over({ renew: false }, options), ...own };
    const terms = resolveTerms(this.#core.settings, {}, asked, wait);
    const mutex = { key, kind: 'mutex', weight: 1, capacity: 1 } as const;
    const asking = { ...mutex, terms, stays: !terms.renew, mark: MADE_HERE };
    const hold = await this.#core.acquisitions.acquire(asking);
    if (hold === null) return null;
    if (hold.root.holds > 1) await quietly(this.#extend(key, owner, ttl));
    return hold.fence;
  }

  async #leaseOf(key: string, owner: string, limit = SHOWN): Promise<HolderView | undefined> {
    checkLockKey(key);
    checkOwner(owner);
    const { kind, holders } = await ask(this.#core, { op: 'inspect', key, limit });
    if (kind !== 'mutex') return undefined;
    return holders.find((holder) => holder.owner === owner);
  }

  /**
   * True for a hold of this process, or one of another's `ownerLocks`, in which no object believes.
   * The holder of another lease would hear of its end only at its next renewal.
   */
  #mayEnd(id: string): boolean {
    const own = id.startsWith(`${this.#core.id}.`);
    return (own || id.endsWith(MADE_HERE)) && !this.#core.acquisitions.isOpen(id);
  }

  /**
   * A hold of this process, which others choose less often; else the oldest: the latest call may
   * have no reply yet.
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
