/** The lease object that an acquisition returns to its caller. */
import type { Clock } from '../base/clock.js';
import { type CallOptions, checkCall, onAbort, unlessAborted } from '../base/abort.js';
import type { HoldfastError } from '../base/errors.js';
import { checkMs, extendLease } from './extension.js';
import type { Hold } from './root.js';
import type { Watchdog } from './watchdog.js';
import { isLossOf, type LeaseState, notHeld } from './lease-state.js';
import { shownAs } from '../base/shown.js';

/**
 * The result of a release:
 *
 * - `freed`: the lock was held until the call. It is free, or the next waiter holds it.
 * - `kept`: this hold is released; others share the lease, so the lock stays held.
 * - `lost`: the lease had ended before. Nothing was freed, and no other lease was changed.
 */
export type ReleaseOutcome = 'freed' | 'kept' | 'lost';

export interface Grantor {
  readonly clock: Clock;
  readonly watchdog: Watchdog;
  release(hold: Hold): Promise<ReleaseOutcome>;
}

interface Away {
  readonly controller: AbortController;
  /** Ends the wait without taking the lock back. */
  readonly abandon: () => void;
  readonly over: Promise<void>;
  readonly end: () => void;
}

/**
 * A granted lock. Only this object can release it.
 *
 * The lease is renewed (unless `renew: false`) until it is released or lost, or until `maxHold` has
 * passed.
 *
 * A wait at a condition gives the lock up and takes it back. This object and its `signal` stay the
 * same, but `id` and `fence` are then those of a new acquisition.
 */
export class Lease implements AsyncDisposable {
  static {
    shownAs(this, ({ key, id, fence, state, remaining }) => ({ key, id, fence, state, remaining }));
  }

  #hold: Hold;
  readonly #grantor: Grantor;
  #away: Away | undefined;
  #released: Promise<ReleaseOutcome> | undefined;

  /** @internal */
  constructor(hold: Hold, { releaser }: { readonly releaser: Grantor }) {
    this.#hold = hold;
    this.#grantor = releaser;
    hold.root.telemetry.watch(this, hold);
  }

  get key(): string {
    return this.#hold.key;
  }

  /** Unique, see `HolderInfo.lastFence`. */
  get id(): string {
    return this.#hold.name;
  }

  /**
   * Greater than the fence of every earlier lease of this key. The protected resource refuses a
   * request whose fence is lower than the highest one it has seen. A safe integer, at least the
   * microseconds of the server's clock. It grows when the lease waits at a condition, so read it
   * when you need it.
   */
  get fence(): number {
    return this.#hold.fence;
  }

  /**
   * The holds that share the lease, including this one, as the store last reported when it granted
   * or released one in this process. 1 without `sharedBy`; 0 after this lease is released or lost.
   * `ownerLocks.holds` asks the store, which also knows changes of other processes.
   */
  get holds(): number {
    return this.#away === undefined && this.#hold.state === 'held' ? this.#hold.root.holds : 0;
  }

  /**
   * Aborts when the lease is lost: the store does not know it any more, or its time is over on this
   * machine's monotonic clock and no answer that has arrived extends it. That is before the server
   * grants the lock to another holder, whether or not it can be reached. The reason is a
   * `HOLDFAST_LOST` error. It does not abort on release, nor while the lease is in doubt. In `run`
   * it also aborts when the `signal` of the call does.
   *
   * It cannot abort while the event loop is blocked: after long synchronous work, read `held`.
   */
  get signal(): AbortSignal {
    if (this.#away !== undefined) return this.#away.controller.signal;
    return this.#hold.signal;
  }

  /**
   * True while the lock is certainly held. Each read checks the clock.
   *
   * False after the end of the lease on the monotonic clock, and while the lease is in doubt: the
   * wall clock advanced by more than a second without the monotonic clock, because the machine was
   * suspended or its wall clock was set. A lease in doubt is not lost. `verify` waits for the
   * answer of the store.
   */
  get held(): boolean {
    return this.#away === undefined && this.#grantor.watchdog.believes(this.#hold);
  }

  /** Each read checks the clock. */
  get state(): LeaseState {
    if (this.#away !== undefined) return 'parked';
    const believed = this.#grantor.watchdog.believes(this.#hold);
    const { state } = this.#hold;
    if (state === 'held') return believed ? 'held' : 'doubted';
    // for its holder, a lease that is left to the store or to another process is over
    return state === 'left' ? 'released' : state;
  }

  /**
   * Resolves to `held` once that is certain: at once, unless the lease is in doubt; then when the
   * store has answered, or the lease has ended on the monotonic clock. Never rejects.
   */
  async verify(): Promise<boolean> {
    return this.#away === undefined && this.#grantor.watchdog.verified(this.#hold);
  }

  /** The ms for which the lock is certainly held without a renewal; 0 if it is not `held`. */
  get remaining(): number {
    return this.held ? this.#hold.remaining : 0;
  }

  /**
   * Throws unless `held`: `HOLDFAST_UNCERTAIN` for a lease in doubt (call `await verify()`, then
   * check again), and `HOLDFAST_LOST` for one that is lost, released or given up at a condition.
   */
  assertHeld(): void {
    if (!this.held) throw this.notHeld();
  }

  /**
   * Rejects as `assertHeld` throws, after a doubt.
   * @internal
   */
  async certainlyHeld(): Promise<void> {
    if (!(await this.verify())) throw this.notHeld();
  }

  /**
   * Ensures that the lock is held for at least `ms` from now; sends a request only if less time
   * remains. Resolves to the remaining time.
   *
   * Rejects with `HOLDFAST_LOST` if the lease has ended; with `HOLDFAST_UNCERTAIN` if the store did
   * not answer (the lease is unchanged), or less than `ms` remains after slow answers (the lease is
   * held); with `HOLDFAST_BAD_OPTION` if `ms` goes beyond `maxHold`; and with `HOLDFAST_ABORTED` if
   * `signal` aborts: the lease may be extended then.
   */
  async ensure(ms: number, options?: CallOptions): Promise<number> {
    checkMs(ms, 0);
    if (options !== undefined) checkCall(options);
    const left = this.remaining;
    return left > 0 && left >= ms ? left : this.extend(Math.max(1, ms), options);
  }

  /**
   * Extends the lease to at least `ms` from now; never shortens it. Resolves and rejects as
   * `ensure` does.
   */
  async extend(ms: number, options?: CallOptions): Promise<number> {
    checkMs(ms, 1);
    return unlessAborted(options, () => extendLease(this, this.#grantor, ms), this.key);
  }

  /**
   * Ends the renewal: the lease ends when its remaining time has passed, unless `extend` extends
   * it. With `sharedBy`, the other holds are renewed further. A wait at a condition does not start
   * it again.
   */
  stopRenewal(): void {
    this.#grantor.watchdog.stopRenewal(this.#hold);
  }

  /**
   * Releases the lock and hands it to the next waiter.
   *
   * Further calls return the same promise. This process does not extend the lease any more, and no
   * retry can affect a newer lease of the key. If the lock goes on to tasks of this process, the
   * promise resolves at once, without an answer of the store. Rejects with `HOLDFAST_UNCERTAIN` if
   * the store does not answer; retries continue in the background until the lease has ended by
   * itself. A further call then waits for them, and tells the result.
   *
   * If the lease waits at a condition, the call ends that wait, and the lock is not taken back.
   * Rejects with `HOLDFAST_ABORTED` if `signal` aborts; the release goes on.
   */
  release(options?: CallOptions): Promise<ReleaseOutcome> {
    if (options !== undefined) return this.#endWith(options);
    // without an answer, a further call asks again
    if (this.#released !== undefined && this.#hold.end === undefined) return this.#released;
    this.#released =
      this.#away === undefined ? this.#grantor.release(this.#hold) : this.#abandon(this.#away);
    return this.#released;
  }

  async #endWith(options: CallOptions): Promise<ReleaseOutcome> {
    checkCall(options);
    const released = this.release();
    // the call may reject before the release does
    released.catch(() => undefined);
    return unlessAborted(options, () => released, this.key);
  }

  /** Releases the lock. A lost lease is no error here; check `held` or `signal`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }

  /**
   * The reason of its signal, if that has aborted.
   * @internal
   */
  get loss(): HoldfastError {
    const { aborted, reason } = this.signal;
    return aborted && isLossOf(reason, this.key) ? reason : this.notHeld();
  }

  /**
   * Aborts the lease's signal also when another signal aborts. The returned function ends this.
   * @internal
   */
  follow(signal: AbortSignal): () => void {
    const abort = (): void => (this.#away?.controller ?? this.#hold).abort(signal.reason);
    if (signal.aborted) abort();
    return onAbort(signal, abort);
  }

  /**
   * It stands for another library's lock too, so it can be neither handed over nor given up at a
   * condition: the other lock would not follow.
   * @internal
   */
  get besides(): boolean {
    return false;
  }

  /** @internal */
  get hold(): Hold {
    return this.#hold;
  }

  /** @internal */
  grantedBy(grantor: Grantor): boolean {
    return this.#grantor === grantor;
  }

  /**
   * Holds nothing until `comeBack`.
   * @internal
   */
  goAway(abandon: () => void): void {
    let end = (): void => undefined;
    const over = new Promise<void>((resolve) => {
      end = resolve;
    });
    this.#away = { controller: this.#hold.detach(), abandon, over, end };
  }

  /**
   * Continues with another hold, or with a lost one.
   * @internal
   */
  comeBack(hold: Hold): void {
    const away = this.#away as Away;
    this.#away = undefined;
    const { renewed } = this.#hold;
    this.#hold = hold;
    if (!renewed) this.stopRenewal();
    hold.root.telemetry.watch(this, hold);
    hold.attach(away.controller);
    away.end();
  }

  async #abandon({ abandon, over }: Away): Promise<ReleaseOutcome> {
    abandon();
    await over;
    return this.#grantor.release(this.#hold);
  }

  /** @internal */
  notHeld(): HoldfastError {
    return notHeld(this.#hold, this.#away !== undefined);
  }
}
