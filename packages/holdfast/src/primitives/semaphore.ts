/**
 * The semaphore: n permits, taken some at a time. A thin face on the engine, which is one.
 *
 * Each acquisition is a lease, so a crash gives its permits back. Strict order of arrival: a large
 * request at the head of the queue is waited for. The capacity is agreed by all who use the key at
 * the same time; the store keeps it.
 */
import type { Core } from '../core.js';
import { badOption } from '../errors.js';
import { ask } from '../inspection.js';
import type { Lease } from '../lease/lease.js';
import { checkObject, whole } from '../checks.js';
import type { AcquireOptions, LockOptions } from '../options.js';
import * as failures from '../acquire/failures.js';
import { checkWork, Acquirer, plainLease } from './acquirer.js';

const PERMITS_MAX = 1_000_000;

/** What a semaphore is made with. */
export interface SemaphoreOptions extends LockOptions {
  /** How many permits there are: the same for all who use the key. 1 to 1,000,000. */
  readonly permits: number;
}

/**
 * So many permits, shared by processes and machines.
 *
 * Making one costs nothing and asks nobody: the semaphore exists in the store while permits are
 * held or waited for, and it is then that its number of permits is agreed.
 *
 * Fairness: requests are served strictly in the order of their arrival at the store, whatever they
 * ask for; nobody is overtaken, with `fair: true` or without.
 */
export class Semaphore {
  /** What is shared. */
  readonly key: string;
  readonly #core: Core;
  readonly #options: LockOptions;
  #permits: number;
  #acquirer: Acquirer<Lease>;

  /** @internal */
  constructor(core: Core, key: string, options: SemaphoreOptions) {
    checkObject('options', options);
    const { permits, ...lockOptions } = options;
    this.key = key;
    this.#core = core;
    this.#options = lockOptions;
    this.#permits = checkPermits(permits);
    this.#acquirer = this.#newFace();
  }

  /** How many permits there are, as this object has it. */
  get permits(): number {
    return this.#permits;
  }

  /**
   * Takes permits, all of them or none; waits for as long as it takes, or for `wait` ms.
   *
   * Cancellation: a `signal` that aborts, or a wait that ends, gives up the place in the queue; a
   * grant that was on its way is given back. Nothing is held when it rejects.
   *
   * Rejects with `HOLDFAST_MISMATCH` if the key is in use with another number of permits (the
   * message names it); with `HOLDFAST_TIMEOUT`, `HOLDFAST_ABORTED`, `HOLDFAST_REFUSED` (among
   * others if the `owner` holds fewer permits already: it would wait for itself),
   * `HOLDFAST_UNREACHABLE`, `HOLDFAST_CLOSED` or `HOLDFAST_BAD_OPTION`.
   * @param count how many; 1 to `permits`, default 1
   */
  async acquire(count?: number, options?: AcquireOptions): Promise<Lease> {
    return this.#acquirer.acquire(this.#count(count), options);
  }

  /**
   * Takes permits if they are free, or become free within `wait` ms (0 unless given); resolves to
   * `null` if not.
   *
   * It never overtakes: with others in the queue, nothing is free for a newcomer. Rejects as
   * `acquire` does, but never with `HOLDFAST_TIMEOUT`.
   */
  async tryAcquire(count?: number, options?: AcquireOptions): Promise<Lease | null> {
    return this.#acquirer.tryAcquire(this.#count(count), options);
  }

  /**
   * Takes permits, does the work, and releases: also when the work throws. Resolves and rejects as
   * `run` of a mutex does.
   * @param options among the usual ones `count`: how many permits, default 1
   */
  async run<T>(
    work: (lease: Lease) => T | Promise<T>,
    options: AcquireOptions & { readonly count?: number } = {},
  ): Promise<T> {
    checkWork(work);
    checkObject('options', options);
    const { count, ...rest } = options;
    return this.#acquirer.run(this.#count(count), work, rest);
  }

  /**
   * Changes how many permits there are, for all who use the key, while they use it. With more of
   * them, who waits is let in. With fewer, nobody loses what he holds; nothing is granted until it
   * fits, and who waits for more than there are now is rejected with `HOLDFAST_MISMATCH`.
   *
   * This object asks with the new number from then on; others that were made with the old one are
   * told by `HOLDFAST_MISMATCH`. Once no permit is held and no request waits, the next new request
   * sets the number anew.
   *
   * Rejects with `HOLDFAST_MISMATCH` if the number agreed is not the one of this object, and with
   * `HOLDFAST_UNCERTAIN` without an answer; repeating it is harmless.
   */
  async setPermits(permits: number): Promise<void> {
    const [from, capacity] = [this.#permits, checkPermits(permits)];
    const { key } = this;
    const { retention } = this.#core.settings;
    const command = { op: 'capacity', key, from, capacity, retention } as const;
    const reply = await ask(this.#core, command, 'HOLDFAST_UNCERTAIN');
    if (reply.status === 'mismatch') {
      throw failures.mismatch({ key, capacity: from, option: 'permits' }, reply.capacity);
    }
    this.#permits = capacity;
    this.#acquirer = this.#newFace();
  }

  #count(count: number | undefined): number {
    return whole('count', count, 1, 1, this.#permits);
  }

  #newFace(): Acquirer<Lease> {
    const subject = { key: this.key, capacity: this.#permits, option: 'permits', strict: true };
    return new Acquirer(this.#core, subject, this.#options, plainLease);
  }
}

function checkPermits(permits: unknown): number {
  if (permits === undefined) throw badOption('permits', 'a whole number', permits);
  return whole('permits', permits, 1, 1, PERMITS_MAX);
}
