/**
 * Conditions: waiting, under a mutex, for something that another holder brings about.
 *
 * Java's `Condition`, whose contract this keeps: waiting gives the lock up and takes it back, and
 * nothing can come in between giving it up and being there to be woken. How a signal survives the
 * crash of whoever it woke is in `engine/condition.ts`.
 */
import { onAbort } from '../abort.js';
import type { Core } from '../core.js';
import { badOption } from '../errors.js';
import { Lease } from '../lease/lease.js';
import { duration, known } from '../checks.js';
import * as failures from '../acquire/failures.js';
import type { ConditionWaiter } from '../acquire/condition-waiter.js';
import { sendSignal } from './send-signal.js';
import { quote } from '../text.js';

/** What waiting at a condition may say. */
export interface AwaitOptions {
  /** Longest time to wait for a signal, in ms. Default: no limit. */
  readonly wait?: number;
  /** Gives the waiting for a signal up; the lock is taken back all the same. */
  readonly signal?: AbortSignal;
}

const AWAIT: ReadonlySet<string> = new Set<keyof AwaitOptions>(['wait', 'signal']);
const NAME_MAX = 200;

/**
 * A place at which holders of a mutex wait until another holder signals.
 *
 * It is known by the mutex's key and by its name, across processes and machines, and exists in the
 * store while somebody waits there.
 */
export class Condition {
  /** The mutex that it belongs to. */
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
   * Gives the lock up and waits for a signal, in one step; then takes the lock back, and resolves.
   *
   * Resolves to `true` if it was woken, to `false` if `wait` ms passed before. A signal that the
   * store had before the end of the wait counts. It may be woken for nothing (after a crash, or
   * when the store has lost its memory), so whoever waits looks again at what it waited for:
   * `awaitUntil` does. The time that taking the lock back takes is not part of `wait`, and has no
   * limit.
   *
   * The lease is the same object afterwards, with another `id` and a greater `fence`; meanwhile
   * `held` is false and its signal does not abort.
   *
   * Fairness: signals wake in the order in which waiters came, and who was woken stands in the
   * queue of the lock like all others.
   *
   * Cancellation: when `signal` aborts, the lock is taken back first, and then it rejects with
   * `HOLDFAST_ABORTED`; if it had been woken by then, it resolves to `true`. `lease.release()`
   * gives the waiting up without taking the lock back: it rejects with `HOLDFAST_LOST`.
   *
   * Rejects with the lock still held: `HOLDFAST_BAD_OPTION`; `HOLDFAST_ABORTED`; `HOLDFAST_REFUSED`
   * if the owner has other holds, if `maxQueue` wait already, or if the server refused; and
   * `HOLDFAST_CLOSED` after `close()`. Rejects with nothing held, and a lease that is over:
   * `HOLDFAST_LOST` if the lease had ended before; `HOLDFAST_UNREACHABLE`, `HOLDFAST_REFUSED` or
   * `HOLDFAST_CLOSED` if the lock could not be taken back; the signal that woke it, if one did,
   * goes to the next then.
   */
  async await(lease: Lease, options: AwaitOptions = {}): Promise<boolean> {
    known('options', options, AWAIT);
    const wait = duration('wait', options.wait, Number.POSITIVE_INFINITY, 0, LONGEST);
    const { signal } = options;
    if (signal !== undefined && !(signal instanceof AbortSignal)) {
      throw badOption('signal', 'an AbortSignal', signal);
    }
    if (this.#doubts(lease)) await lease.verify();
    lease.assertHeld();
    if (signal?.aborted) throw failures.aborted(this.key, signal.reason);
    const core = this.#core;
    const from = lease.record;
    const conditionWaiter = core.park(from, this.name);
    lease.goAway(() => core.abandon(conditionWaiter));
    this.#bind(conditionWaiter, wait, signal);
    try {
      // what was sent under this lease is to be answered under it
      const answered = Promise.all([from.settled, from.signalling]);
      // it may end before that, and its rejection is then this call's
      await Promise.race([answered, conditionWaiter.promise]);
      conditionWaiter.begin();
      core.ask(conditionWaiter);
      const record = await conditionWaiter.promise;
      lease.comeBack(record ?? from);
    } catch (error) {
      if (!conditionWaiter.kept && from.state !== 'lost') from.foundLost('parked');
      lease.comeBack(from);
      throw error;
    }
    const signalled = await conditionWaiter.signalled;
    if (!signalled && signal?.aborted) throw failures.aborted(this.key, signal.reason);
    return signalled;
  }

  /**
   * Waits until `predicate` is true, looking at it under the lock: at first, and whenever woken.
   *
   * Resolves to `true` with the lock held and the predicate true; to `false` if `wait` ms passed
   * and it is not. Rejects as `await` does, or with what the predicate throws, the lock held then.
   */
  async awaitUntil(
    lease: Lease,
    predicate: () => boolean | Promise<boolean>,
    options: AwaitOptions = {},
  ): Promise<boolean> {
    if (typeof predicate !== 'function') throw badOption('predicate', 'a function', predicate);
    known('options', options, AWAIT);
    const { clock } = this.#core;
    const wait = duration('wait', options.wait, Number.POSITIVE_INFINITY, 0, LONGEST);
    if (this.#doubts(lease)) await lease.verify();
    lease.assertHeld();
    const until = clock.now() + wait;
    while (!(await predicate())) {
      const left = until - clock.now();
      if (left <= 0) return false;
      await this.await(lease, { ...options, wait: left });
    }
    return true;
  }

  /**
   * Wakes the one who has waited for longest: it takes the lock back when its turn comes, after
   * this lease. Resolves to how many were woken, 0 if nobody waits. A waiter whose process is gone
   * is passed over.
   *
   * It is repeated until the store has answered it, and wakes nobody twice. Rejects with
   * `HOLDFAST_LOST` if the lease has ended, with `HOLDFAST_UNCERTAIN` if it ended before the store
   * answered, and with `HOLDFAST_REFUSED` if the server refused.
   */
  async signal(lease: Lease): Promise<number> {
    if (this.#doubts(lease)) await lease.verify();
    lease.assertHeld();
    return sendSignal(this.#core, lease.record, this.name, 1);
  }

  /** Wakes all who wait, in the order in which they came. Resolves and rejects as `signal` does. */
  async signalAll(lease: Lease): Promise<number> {
    if (this.#doubts(lease)) await lease.verify();
    lease.assertHeld();
    return sendSignal(this.#core, lease.record, this.name, 0);
  }

  /** True if the lease is in doubt. Throws unless it is one of this mutex. */
  #doubts(lease: Lease): boolean {
    const own = lease instanceof Lease && lease.key === this.key && lease.grantedBy(this.#core);
    if (!own) throw badOption('lease', `a lease of the mutex ${quote(this.key)}`, lease);
    return lease.state === 'doubted';
  }

  /** Wants the lock back at the end of the wait, and when the caller's signal aborts. */
  #bind(conditionWaiter: ConditionWaiter, wait: number, signal: AbortSignal | undefined): void {
    const back = (): void => {
      conditionWaiter.wantBack();
      this.#core.ask(conditionWaiter);
    };
    if (wait === 0) conditionWaiter.wantBack();
    else if (wait !== Number.POSITIVE_INFINITY) {
      const timer = this.#core.clock.after(wait, back);
      conditionWaiter.cleanUp(() => timer.cancel());
    }
    if (signal === undefined) return;
    conditionWaiter.cleanUp(onAbort(signal, back));
  }
}

const LONGEST: number = Number.MAX_SAFE_INTEGER;
