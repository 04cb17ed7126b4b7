/**
 * Conditions of a mutex, with the contract of Java's `Condition`. `engine/condition.ts` says how a
 * signal survives the crash of the waiter that it woke.
 */
import { aborted, onAbort, unlessAborted } from '../base/abort.js';
import type { Core } from '../acquire/core.js';
import { badOption } from '../base/errors.js';
import { Lease } from '../lease/lease.js';
import { checkAwait } from './gate-options.js';
import { Conditions } from '../acquire/conditions/conditions.js';
import type { Parked } from '../acquire/conditions/parked.js';
import * as failures from '../acquire/failures.js';
import { runsBeside } from './shared-runs.js';
import { quote } from '../base/text.js';

export interface AwaitOptions {
  /** In ms. Default: no limit. */
  readonly wait?: number | undefined;
  /** Stops the wait, see {@link Condition.await}. */
  readonly signal?: AbortSignal | undefined;
}

const NAME_MAX = 200;

/**
 * A place at which holders of a mutex wait until another holder signals. The mutex's key and the
 * condition's name identify it in all processes. It is in the store only while it has waiters.
 */
export class Condition {
  readonly key: string;
  readonly name: string;
  readonly #core: Core;

  /** @internal */
  constructor(core: Core, key: string, name: string) {
    const expected = `well-formed text of 1 to ${NAME_MAX} characters`;
    const good = typeof name === 'string' && name !== '' && name.length <= NAME_MAX;
    if (!good || /\p{Surrogate}/u.test(name)) throw badOption('name', expected, name);
    this.key = key;
    this.name = name;
    this.#core = core;
  }

  /**
   * Releases the lock and starts to wait for a signal, in one atomic step. Acquires the lock again
   * before it resolves.
   *
   * Resolves to `true` if a signal woke the waiter, and to `false` if `wait` ms passed first. A
   * signal that reached the store before that counts. A waiter may also wake without a signal
   * (after a crash, or a loss of data), so check the awaited state again, or use `awaitUntil`.
   * `wait` does not limit the time to acquire the lock again.
   *
   * The lease stays the same object, with a new `id` and a greater `fence`. During the wait, `held`
   * is false and the lease's signal does not abort.
   *
   * Fairness: signals wake waiters in the order of arrival. A woken waiter queues for the lock like
   * every other.
   *
   * Cancellation: if `signal` aborts, the call acquires the lock again and rejects with
   * `HOLDFAST_ABORTED`; if a signal woke it first, it resolves to `true`. `lease.release()` ends
   * the wait without the lock: the call rejects with `HOLDFAST_LOST`.
   *
   * Rejects with the lock still held: `HOLDFAST_BAD_OPTION`; `HOLDFAST_ABORTED`; `HOLDFAST_REFUSED`
   * if the owner has other holds, another reentrant `run` of the lease is open, `maxQueue` waiters
   * are queued, or the server refused the request; and `HOLDFAST_CLOSED` after `close()`. Rejects
   * with nothing held, and the lease over: `HOLDFAST_LOST` if the lease ended before the wait;
   * `HOLDFAST_UNREACHABLE`, `HOLDFAST_REFUSED` or `HOLDFAST_CLOSED` if the lock could not be
   * acquired again (after an abort, within `requestTimeout`); a signal that woke the waiter then
   * goes to the next one.
   */
  async await(lease: Lease, options: AwaitOptions = {}): Promise<boolean> {
    const { wait, signal } = checkAwait(options);
    if (this.#doubts(lease)) await this.#verified(lease, signal);
    lease.assertHeld();
    if (signal?.aborted) throw aborted(this.key, signal.reason);
    const beside = runsBeside(lease);
    if (beside > 0) throw failures.shared(this.key, beside + 1);
    const conditions = this.#core.part(Conditions);
    const from = lease.hold;
    const parked = conditions.park(from, this.name);
    lease.goAway(() => conditions.abandon(parked));
    this.#bind(conditions, parked, wait, signal);
    try {
      // requests under this lease are answered before it is parked; if the acquisition fails first,
      // its rejection is the result
      await Promise.race([from.root.extras.signalling, parked.call.promise]);
      parked.ready = true;
      conditions.ask(parked);
      const hold = await conditions.regained(parked);
      lease.comeBack(hold ?? from);
    } catch (error) {
      if (!parked.kept && from.state !== 'lost') from.foundLost('parked');
      lease.comeBack(from);
      throw error;
    }
    const signalled = await parked.signalled;
    if (!signalled && signal?.aborted) throw aborted(this.key, signal.reason);
    return signalled;
  }

  /**
   * Waits until `predicate` is true. Calls it under the lock, before it waits and after each
   * wake-up.
   *
   * Resolves with the lock held: to `true`, or to `false` if the predicate is still false after
   * `wait` ms. Rejects as `await` does, with `HOLDFAST_LOST` if the lease ended while the predicate
   * was asked, or with the predicate's error.
   */
  async awaitUntil(
    lease: Lease,
    predicate: () => boolean | Promise<boolean>,
    options: AwaitOptions = {},
  ): Promise<boolean> {
    if (typeof predicate !== 'function') throw badOption('predicate', 'a function', predicate);
    const { wait, signal } = checkAwait(options);
    const { clock } = this.#core;
    if (this.#doubts(lease)) await this.#verified(lease, signal);
    lease.assertHeld();
    const until = clock.now() + wait;
    for (;;) {
      const isTrue = await predicate();
      if (this.#doubts(lease)) await this.#verified(lease, signal);
      lease.assertHeld();
      if (isTrue) return true;
      const remaining = until - clock.now();
      if (remaining <= 0) return false;
      await this.await(lease, { signal, wait: remaining });
    }
  }

  /**
   * Wakes the waiter that has waited longest, or none; a waiter of a dead process is skipped. It
   * acquires the lock again in its turn of the queue. Resolves to the number of woken waiters, 0 or
   * 1.
   *
   * The request is retried until the store replies; a retry wakes no second waiter. Rejects with
   * `HOLDFAST_LOST` if the lease has ended, with `HOLDFAST_UNCERTAIN` if it ended before the store
   * replied, and with `HOLDFAST_REFUSED` if the server refused the request.
   */
  async signal(lease: Lease): Promise<number> {
    if (this.#doubts(lease)) await lease.verify();
    lease.assertHeld();
    return this.#core.part(Conditions).signal(lease.hold, this.name, 1);
  }

  /**
   * Wakes all waiters in the order of arrival. Resolves to their number; rejects as `signal` does.
   */
  async signalAll(lease: Lease): Promise<number> {
    if (this.#doubts(lease)) await lease.verify();
    lease.assertHeld();
    return this.#core.part(Conditions).signal(lease.hold, this.name, 0);
  }

  #doubts(lease: Lease): boolean {
    const { releaser } = this.#core;
    const own = lease instanceof Lease && lease.key === this.key && lease.grantedBy(releaser);
    const isMutex = own && (lease.besides || lease.constructor === Lease);
    if (!isMutex) throw badOption('lease', `a lease of the mutex ${quote(this.key)}`, lease);
    if (lease.besides) throw badOption('lease', 'one without the lock of another library', lease);
    return lease.state === 'doubted';
  }

  #verified(lease: Lease, signal: AbortSignal | undefined): Promise<boolean> {
    return unlessAborted({ signal }, () => lease.verify(), this.key);
  }

  #bind(
    conditions: Conditions,
    parked: Parked,
    wait: number,
    signal: AbortSignal | undefined,
  ): void {
    const { call } = parked;
    if (wait === 0) parked.wantsBack = true;
    else if (wait !== Number.POSITIVE_INFINITY) {
      const timer = this.#core.clock.after(wait, () => conditions.comeBack(parked));
      call.cleanUp(() => timer.cancel());
    }
    if (signal === undefined) return;
    const stop = (): void => conditions.cancel(parked, aborted(this.key, signal.reason));
    call.cleanUp(onAbort(signal, stop));
  }
}
