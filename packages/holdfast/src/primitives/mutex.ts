/**
 * The mutex: one holder at a time. A thin face: a capacity of 1, of which everybody takes 1.
 */
import type { Core } from '../core.js';
import type { Lease } from '../lease/lease.js';
import { checkObject, flag } from '../checks.js';
import type { AcquireOptions, LockOptions } from '../options.js';
import { Condition } from './condition.js';
import { checkWork, Acquirer, plainLease } from './acquirer.js';
import { enter, open } from './shared-runs.js';
import { innermost, under } from './lock-context.js';

/** What a mutex may be made with. */
export interface MutexOptions extends LockOptions {
  /**
   * Let `run` enter again inside `run` of the same asynchronous context, without asking the store.
   * Each `run` is a hold of its own: the lock is released when the last of them ends. That is the
   * outermost one, unless work was started in it that it did not wait for. Default `false`.
   */
  readonly reentrant?: boolean;
}

/**
 * A lock that one holder has at a time, across processes and machines.
 *
 * Making one costs nothing and asks nobody: the lock exists in the store while it is held or waited
 * for.
 */
export class Mutex {
  /** What is locked. */
  readonly key: string;
  readonly #acquirer: Acquirer<Lease>;
  readonly #reentrant: boolean;

  /** @internal */
  constructor(core: Core, key: string, options: MutexOptions) {
    checkObject('options', options);
    const { reentrant, ...lockOptions } = options;
    this.key = key;
    this.#reentrant = flag('reentrant', reentrant, false);
    this.#acquirer = new Acquirer(core, { key, capacity: 1 }, lockOptions, plainLease);
  }

  /**
   * Takes the lock; waits for as long as it takes, or for `wait` ms.
   *
   * Fairness: waiters are served in the order of their arrival at the store; strictly with `fair:
   * true`, otherwise a process may pass a lease on among its own waiters up to `localHandOffs`
   * times in between.
   *
   * Cancellation: a `signal` that aborts, or a wait that ends, gives up the place in the queue; a
   * grant that was on its way is given back. Nothing is held when it rejects.
   *
   * Rejects with `HOLDFAST_TIMEOUT`, `HOLDFAST_ABORTED`, `HOLDFAST_REFUSED`,
   * `HOLDFAST_UNREACHABLE`, `HOLDFAST_CLOSED` or `HOLDFAST_BAD_OPTION`.
   */
  acquire(options?: AcquireOptions): Promise<Lease> {
    return this.#acquirer.acquire(1, options);
  }

  /**
   * Takes the lock if it is free, or becomes free within `wait` ms (0 unless given); resolves to
   * `null` if not.
   *
   * It never overtakes: with others in the queue, the lock is not free for a newcomer. Rejects as
   * `acquire` does, but never with `HOLDFAST_TIMEOUT`.
   */
  tryAcquire(options?: AcquireOptions): Promise<Lease | null> {
    return this.#acquirer.tryAcquire(1, options);
  }

  /**
   * Takes the lock, does the work, and releases: also when the work throws.
   *
   * Resolves to the work's result; rejects with the work's own error, with what `acquire` rejects
   * with, or, if the lease was lost before the work had ended, with `HOLDFAST_LOST`: the work was
   * done, but not alone for sure. Work that can stop should watch `lease.signal`. A release that
   * the store does not answer is no error here: the lock ends by itself, and the release is tried
   * further.
   *
   * With `reentrant: true`, a `run` inside another one joins its lease, and waits for the lease's
   * verification if it is in doubt. It rejects with `HOLDFAST_LOST` if the lease was lost, or
   * released by hand, before its work had ended.
   */
  async run<T>(work: (lease: Lease) => T | Promise<T>, options?: AcquireOptions): Promise<T> {
    checkWork(work);
    if (!this.#reentrant) return this.#acquirer.run(1, work, options);
    const { core, key } = this.#acquirer;
    const outer = innermost({ core, key, reentrant: true });
    // a lease in doubt is not held for sure, and would be waited for if the store were asked for it
    while (outer?.state === 'doubted') await outer.verify();
    if (outer?.held) return enter(outer, () => work(outer));
    const lease = await this.#acquirer.acquire(1, options);
    return open(lease, () => under(core, lease, true, () => work(lease)));
  }

  /**
   * A condition of this mutex: a place at which holders wait until another holder signals.
   * @param name 1 to 200 characters; the same name is the same condition, in every process
   */
  condition(name: string): Condition {
    return new Condition(this.#acquirer.core, this.key, name);
  }

  /**
   * What `allOf` asks through.
   * @internal
   */
  get acquirer(): Acquirer<Lease> {
    return this.#acquirer;
  }
}
