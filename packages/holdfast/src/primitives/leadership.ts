/**
 * One term of a leader: a lease, and the events that can end it.
 *
 *     leads --resign--> over, released
 *       |\---lease lost--> over
 *       |\---step down (close, stop)--> over here; the lease is kept until `resign`
 *       \----handed over--> over here; another process continues the term
 *
 * Invariants: I7 (`signal` aborts and `leads` is false no later than the lease ends on this clock)
 * and I8 (an aborted `signal` stays aborted).
 */
import type { Core } from '../acquire/core.js';
import { HoldfastError } from '../base/errors.js';
import type { Lease, ReleaseOutcome } from '../lease/lease.js';
import { quietly } from './acquirer.js';
import { quote } from '../base/text.js';
import { shownAs } from '../base/shown.js';

/** One term of a leader. Candidates are elected in the order of arrival at the store. */
export class Leadership implements AsyncDisposable {
  static {
    shownAs(this, (one) => {
      const state = one.#over.signal.aborted ? 'over' : one.#lease.state;
      return { key: one.key, id: one.id, term: one.term, state };
    });
  }

  readonly #lease: Lease;
  readonly #over = new AbortController();
  readonly #changed: () => void;
  readonly #unhook: () => void;
  /** At the last read of `leads`. */
  #showedDoubt = false;

  /**
   * @internal
   * @param resignsItself the caller resigns when the `Holdfast` starts to close
   */
  constructor(core: Core, lease: Lease, resignsItself: boolean, changed: () => void) {
    this.#lease = lease;
    this.#changed = changed;
    // the caller of a lost term may never resign
    const lost = (): void => {
      this.stepDown(lease.signal.reason);
      this.#unhook();
    };
    lease.signal.addEventListener('abort', lost, { once: true });
    let uncover = (): void => undefined;
    this.#unhook = () => {
      uncover();
      lease.signal.removeEventListener('abort', lost);
    };
    // may call back at once
    uncover = core.onClose(() => {
      this.stepDown(closing(lease.key));
      if (!resignsItself) void quietly(this.resign());
    });
    if (lease.signal.aborted) lost();
    changed();
  }

  get key(): string {
    return this.#lease.key;
  }

  /** The id of the candidature, never used again. */
  get id(): string {
    return this.#lease.id;
  }

  /**
   * Greater than every earlier term of this key. It is a fence: send it with each write, so that
   * the target can reject writes of an earlier leader. A safe integer.
   */
  get term(): number {
    return this.#lease.fence;
  }

  /**
   * Aborts when the term is over. The reason is `HOLDFAST_LOST` when the lease is lost (at the
   * latest when it ends on this machine's monotonic clock, before another candidate can lead),
   * `HOLDFAST_CLOSED` when the `Holdfast` closes, the caller's reason when `lead` is stopped, and
   * an `AbortError` after `resign`.
   *
   * It cannot abort while the event loop is blocked: check `leads` after long synchronous work.
   */
  get signal(): AbortSignal {
    // this getter notices a deadline that passed in a blocked event loop
    void this.#lease.signal;
    return this.#over.signal;
  }

  /**
   * True while this is certainly the leader; each read looks at the clock. False while the lease is
   * in doubt (see {@link Lease.held}), although the term may continue: use `verify`.
   */
  get leads(): boolean {
    if (this.#over.signal.aborted) return false;
    const { state } = this.#lease;
    this.#showedDoubt = state === 'doubted';
    return state === 'held';
  }

  /** Resolves to `leads` once it is certain, see {@link Lease.verify}. */
  async verify(): Promise<boolean> {
    return (await this.#lease.verify()) && !this.#over.signal.aborted;
  }

  /**
   * Ends the term and hands off to the next candidate. Resolves to `lost` if it had ended before.
   * Repeated calls, retries and errors are those of {@link Lease.release}.
   */
  async resign(): Promise<ReleaseOutcome> {
    this.#unhook();
    this.#over.abort();
    try {
      return await this.#lease.release();
    } finally {
      this.#changed();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.resign();
  }

  /**
   * For `holdfast/handover`.
   * @internal
   */
  get lease(): Lease {
    return this.#lease;
  }

  /** @internal */
  handedOver(): void {
    this.#unhook();
    this.stepDown(undefined);
  }

  /**
   * Whether `leads` was last read in a doubt, and the term continues. Waits while the lease is in
   * doubt.
   * @internal
   */
  async wasInDoubt(): Promise<boolean> {
    const wasInDoubt = this.#showedDoubt && (await this.verify());
    this.#showedDoubt = false;
    return wasInDoubt;
  }

  /** @internal */
  stepDown(reason: unknown): void {
    if (this.#over.signal.aborted) return;
    this.#over.abort(reason);
    this.#changed();
  }
}

function closing(key: string): HoldfastError {
  const message = `Holdfast: the term of ${quote(key)} is over: this instance is being closed`;
  return new HoldfastError('HOLDFAST_CLOSED', message, { key });
}
