/**
 * One term of a leader: a lease, and everything that may end it.
 *
 *     leads --resign--> over, released
 *       |\---lease lost--> over
 *       \----step down (close, stop)--> over here; the lease is kept until `resign`
 *
 * While the lease is in doubt, it neither leads for sure nor is its term over.
 *
 * Invariants: I7 (`signal` aborts and `leads` is false no later than the lease ends here) and I8
 * (over is over: `signal` never comes back). `signal` aborts for every reason, so that whatever was
 * started for this term need watch nothing else.
 */
import type { Core } from '../core.js';
import { HoldfastError } from '../errors.js';
import type { Lease, ReleaseOutcome } from '../lease/lease.js';
import { quietly } from './acquirer.js';
import { quote } from '../text.js';

/**
 * The office of a leader, from election to the end of the term.
 *
 * Fairness: candidates are elected in the order of their arrival at the store.
 */
export class Leadership implements AsyncDisposable {
  readonly #lease: Lease;
  readonly #over = new AbortController();
  readonly #changed: () => void;
  readonly #unhook: () => void;
  /** True if `leads` was false for no other reason than doubt. */
  #showedDoubt = false;

  /**
   * @internal
   * @param clings true if whoever has it resigns by itself when closing begins
   */
  constructor(core: Core, lease: Lease, clings: boolean, changed: () => void) {
    this.#lease = lease;
    this.#changed = changed;
    // a term whose lease is lost may never be resigned
    const lost = (): void => {
      this.stepDown(lease.signal.reason);
      this.#unhook();
    };
    lease.signal.addEventListener('abort', lost, { once: true });
    const uncover = core.onClose(() => {
      this.stepDown(closing(lease.key));
      if (!clings) void quietly(this.resign());
    });
    this.#unhook = () => {
      uncover();
      lease.signal.removeEventListener('abort', lost);
    };
    if (lease.signal.aborted) lost();
    changed();
  }

  /** What is led. */
  get key(): string {
    return this.#lease.key;
  }

  /** The candidature's id, unique for ever. */
  get id(): string {
    return this.#lease.id;
  }

  /**
   * A number greater than that of every earlier term of this key, whoever led then: a fence, for
   * whatever the leader writes to. A safe integer.
   */
  get term(): number {
    return this.#lease.fence;
  }

  /**
   * Aborts when the term is over, for whatever reason: with `HOLDFAST_LOST` when the lease is lost
   * (at the latest when it ends on this machine's monotonic clock, before another can lead), with
   * `HOLDFAST_CLOSED` when the `Holdfast` closes, with the reason of whoever stopped `lead`, and
   * with an `AbortError` after `resign`.
   *
   * While the event loop stands still nothing can abort. Code that comes back from long synchronous
   * work asks `leads`.
   */
  get signal(): AbortSignal {
    // looking at the lease notices a deadline that passed while the event loop stood still
    void this.#lease.signal;
    return this.#over.signal;
  }

  /**
   * True while this surely is the leader: asked of the clock, not remembered. False while the lease
   * is in doubt, see {@link Lease.held}, though the term may go on: `verify` waits for the end of
   * the doubt.
   */
  get leads(): boolean {
    if (this.#over.signal.aborted) return false;
    const { state } = this.#lease;
    if (state === 'doubted') this.#showedDoubt = true;
    return state === 'held';
  }

  /**
   * Resolves to `leads` once that is certain: at once, unless the lease is in doubt; then when the
   * store has answered, or the term is over.
   */
  async verify(): Promise<boolean> {
    return (await this.#lease.verify()) && !this.#over.signal.aborted;
  }

  /**
   * Ends the term, and hands over to the candidate who is next. Says whether this was the leader
   * until now: `lost` if the term had ended before. Repeating it answers the same. Rejects with
   * `HOLDFAST_UNCERTAIN` if the store does not answer; it is tried further until the lease has
   * ended by itself.
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

  /** Resigns at the end of an `await using` block. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.resign();
  }

  /**
   * True if `leads` was false since the last call although the term goes on; waits until that is
   * certain.
   * @internal
   */
  async misled(): Promise<boolean> {
    const misled = this.#showedDoubt && (await this.verify());
    this.#showedDoubt = false;
    return misled;
  }

  /**
   * Ends the term here; the lease is kept until `resign`.
   * @internal
   */
  stepDown(reason: unknown): void {
    if (this.#over.signal.aborted) return;
    this.#over.abort(reason);
    this.#changed();
  }
}

function closing(key: string): HoldfastError {
  const message = `Holdfast: this instance is being closed, the term of ${quote(key)} is over`;
  return new HoldfastError('HOLDFAST_CLOSED', message, { key });
}
