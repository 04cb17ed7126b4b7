import type { Core } from '../acquire/core.js';
import { aborted } from '../base/abort.js';
import type { AcquireRequest } from '../acquire/call.js';
import { Lease } from '../lease/lease.js';
import type { Hold } from '../lease/root.js';
import { flag, known } from '../base/checks.js';
import { type AcquireOptions, LOCK, type LockOptions, withDefaults } from '../base/options.js';
import * as failures from '../acquire/failures.js';
import { checkWork, Acquirer } from './acquirer.js';
import { enter, open } from './shared-runs.js';
import { innermost, under } from './lock-context.js';

export interface MutexOptions extends LockOptions {
  /**
   * Lets `run` enter again inside a `run` of the same asynchronous context, without a request to
   * the store. Each `run` is a hold: the lock is released when the last ends. With `'refuse'`, such
   * a `run` rejects with `HOLDFAST_REFUSED` instead of waiting for itself; so does an `acquire`
   * that may wait, also of `allOf` with this mutex. Default `false`.
   */
  readonly reentrant?: boolean | 'refuse' | undefined;
}

export const MUTEX: ReadonlySet<string> = new Set([...LOCK, 'reentrant']);

/**
 * A lock with at most one holder at a time, across processes and machines; `Mutex` adds conditions.
 * Creating this object sends no request.
 */
export class PlainMutex {
  readonly key: string;
  readonly #acquirer: Acquirer<Lease>;
  readonly #reentrant: boolean | 'refuse';

  /** @internal */
  constructor(core: Core, key: string, options: MutexOptions) {
    known('options', options, MUTEX);
    const { reentrant, ...lockOptions } = options;
    this.key = key;
    this.#reentrant = reentrant === 'refuse' ? reentrant : flag('reentrant', reentrant, false);
    const own = withDefaults(core.settings, lockOptions);
    const send = (request: AcquireRequest): Promise<Hold | null> => {
      if (request.terms.wait > 0) this.#refuseInside();
      return core.acquisitions.acquire(request);
    };
    const refuses = reentrant === 'refuse' && { send };
    const { maxHold } = core.settings.defaults;
    const subject = { key, kind: 'mutex', capacity: 1, maxHold, ...refuses } as const;
    this.#acquirer = new Acquirer(core, subject, own, Lease);
  }

  /**
   * Acquires the lock; waits without a limit, or for `wait` ms.
   *
   * Fairness: waiters are served in the order of arrival at the store. With `fair: true` this order
   * is strict; otherwise a process may hand off a lease to its own waiters before the next of the
   * store's queue, see `localHandOffs`.
   *
   * Cancellation: if `signal` aborts or the wait ends, the waiter leaves the queue; a later grant
   * is released. Nothing is held after a rejection.
   *
   * Rejects with `HOLDFAST_TIMEOUT`, `HOLDFAST_ABORTED`, `HOLDFAST_REFUSED`,
   * `HOLDFAST_UNREACHABLE`, `HOLDFAST_CLOSED` or `HOLDFAST_BAD_OPTION`.
   */
  acquire(options?: AcquireOptions): Promise<Lease> {
    return this.#acquirer.acquire(1, options);
  }

  /**
   * Acquires the lock if it is free, or becomes free within `wait` ms (default 0); otherwise
   * resolves to `null`. A lock with a queue is not free. Rejects as `acquire` does, without
   * `HOLDFAST_TIMEOUT`.
   */
  tryAcquire(options?: AcquireOptions): Promise<Lease | null> {
    return this.#acquirer.tryAcquire(1, options);
  }

  /**
   * Acquires the lock, does the work, and releases the lock, also if the work throws.
   *
   * Rejects with the work's own error, with an error of `acquire`, or with `HOLDFAST_LOST` if the
   * lease was lost before the work ended: the work was done, but another holder may have worked at
   * the same time. Work that can stop should watch `lease.signal`, which also aborts when `signal`
   * aborts. A release without a reply is no error: it is retried in the background until the lease
   * expires.
   *
   * With `reentrant: true`, a `run` inside another `run` joins its lease, after a doubt is
   * resolved. Its options are checked, and an aborted `signal` rejects it; a later abort has no
   * effect on the shared lease. It rejects with `HOLDFAST_LOST` if the lease is lost, or released
   * by `lease.release()`, before its work ends.
   */
  async run<T>(work: (lease: Lease) => T | Promise<T>, options?: AcquireOptions): Promise<T> {
    checkWork(work);
    if (!this.#reentrant) return this.#acquirer.run(1, work, options);
    const { core, key } = this.#acquirer;
    if (this.#reentrant === 'refuse') this.#refuseInside();
    const outer = innermost({ core, key, reentrant: true });
    // an acquisition would wait for the outer lease in doubt
    while (outer?.state === 'doubted') await outer.verify();
    if (outer?.held) {
      const { signal } = this.#acquirer.terms(options, Number.POSITIVE_INFINITY);
      if (signal?.aborted) throw aborted(key, signal.reason);
      return enter(outer, () => work(outer));
    }
    return core.telemetry.run(key, async () => {
      const lease = await this.#acquirer.acquire(1, options);
      const unfollow = options?.signal && lease.follow(options.signal);
      const run = open(lease, () => under(core, lease, true, () => work(lease)));
      return unfollow === undefined ? run : run.finally(unfollow);
    });
  }

  /** A run that waits at a condition has not got the lock. */
  #refuseInside(): void {
    const { core, key } = this.#acquirer;
    const outer = innermost({ core, key, reentrant: true });
    if (/held|doubted/.test(outer?.state ?? '')) throw failures.waitsForItself(key);
  }

  /** @internal */
  get acquirer(): Acquirer<Lease> {
    return this.#acquirer;
  }
}
