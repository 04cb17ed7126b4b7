import { type HoldfastError, isHoldfastError } from '../base/errors.js';
import { EXTENSIONS_MAX, notExtended } from '../lease/extension.js';
import { isLossOf } from '../lease/lease-state.js';
import type { Lease, ReleaseOutcome } from '../lease/lease.js';
import { duration } from '../base/checks.js';
import { shownAs } from '../base/shown.js';
import type { MultiAcquired } from './multi-acquire.js';

/** `uncertain`: the store did not reply for this key. */
export type KeyOutcome = ReleaseOutcome | 'uncertain';

const LONGEST_MS = 86_400_000;

/**
 * The locks of several keys, granted together.
 *
 * Each key has its own lease and fence. They are released together. When one is lost, the others
 * stay held until `release`, so that the work can stop safely.
 */
export class MultiLease implements AsyncDisposable {
  static {
    shownAs(this, ({ fences, held, remaining }) => ({ fences, held, remaining }));
  }

  /** See `AllOf.keys`. */
  readonly keys: readonly string[];
  /**
   * The fence of each key, greater than that of every earlier lease of the key. Fences of different
   * keys cannot be compared.
   */
  readonly fences: ReadonlyMap<string, number>;
  readonly #leases: readonly Lease[];
  readonly #lost: AbortSignal;
  readonly #outcomes = new Map<string, KeyOutcome>();
  #released: Promise<ReleaseOutcome> | undefined;

  /** @internal */
  constructor({ leases, lost }: MultiAcquired) {
    this.keys = leases.map(({ key }) => key);
    this.fences = new Map(leases.map(({ key, fence }) => [key, fence]));
    this.#leases = leases;
    this.#lost = lost;
  }

  /**
   * Aborts when a lease is lost, with the `HOLDFAST_LOST` error of the first one, whose `key` names
   * the lock; not on release.
   */
  get signal(): AbortSignal {
    // reading `signal` notices a deadline that passed in a blocked event loop
    for (const lease of this.#leases) if (lease.signal.aborted) break;
    return this.#lost;
  }

  /** True while all are certainly held. */
  get held(): boolean {
    return this.#leases.every(({ held }) => held);
  }

  /** Resolves to `held` once it is certain, see {@link Lease.verify}. */
  async verify(): Promise<boolean> {
    const verified = await Promise.all(this.#leases.map((lease) => lease.verify()));
    return verified.every(Boolean) && this.held;
  }

  /** Ms for which all are certainly held without a renewal; 0 if one is not held. */
  get remaining(): number {
    let least = Number.POSITIVE_INFINITY;
    for (const lease of this.#leases) least = Math.min(least, lease.remaining);
    return least;
  }

  /** Throws the error of `Lease.assertHeld` for the first lock that is not held. */
  assertHeld(): void {
    for (const lease of this.#leases) lease.assertHeld();
  }

  /**
   * As {@link Lease.ensure}, for all locks in one round trip: extends those that last for less. The
   * error of a lost lease takes precedence.
   */
  async ensure(ms: number): Promise<number> {
    duration('ms', ms, 0, 0, LONGEST_MS);
    return this.#lasting(ms, (lease) => lease.ensure(ms));
  }

  /**
   * As {@link Lease.extend}, for all locks in one round trip. If one fails, the others stay
   * extended.
   */
  async extend(ms: number): Promise<number> {
    duration('ms', ms, 0, 1, LONGEST_MS);
    return this.#lasting(ms, (lease) => lease.extend(ms));
  }

  /** The outcome of the release by key; empty before its end. */
  get outcomes(): ReadonlyMap<string, KeyOutcome> {
    return this.#outcomes;
  }

  /**
   * Releases all locks, in one round trip. Resolves to `lost` if one was lost before, to `kept` if
   * one has other holds, otherwise to `freed`.
   *
   * Repeated calls return the same result, and never affect a newer lease. Rejects with
   * `HOLDFAST_UNCERTAIN` if the store does not reply for one of them; that release is retried as in
   * {@link Lease.release}, and the others are released.
   */
  release(): Promise<ReleaseOutcome> {
    this.#released ??= this.#release();
    return this.#released;
  }

  /** Releases. A lost lock causes no error here. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }

  /**
   * The error of the lease that was lost first.
   * @internal
   */
  get loss(): HoldfastError {
    const { aborted, reason } = this.signal;
    if (aborted && isLossOf(reason, reason?.key) && this.fences.has(reason.key as string)) {
      return reason;
    }
    const lost = this.#leases.find(({ key }) => this.#outcomes.get(key) === 'lost');
    const [first] = this.#leases as [Lease];
    return (lost ?? first).loss;
  }

  /** @internal */
  follow(signal: AbortSignal): () => void {
    return (this.#leases[0] as Lease).follow(signal);
  }

  /** @internal */
  get leases(): readonly Lease[] {
    return this.#leases;
  }

  async #release(): Promise<ReleaseOutcome> {
    const answers = await Promise.allSettled(this.#leases.map((lease) => lease.release()));
    let failure: Error | undefined;
    for (const [index, answer] of answers.entries()) {
      const { key } = this.#leases[index] as Lease;
      this.#outcomes.set(key, answer.status === 'fulfilled' ? answer.value : 'uncertain');
      if (answer.status === 'rejected') failure ??= answer.reason as Error;
    }
    if (failure !== undefined) throw failure;
    const found = new Set(this.#outcomes.values());
    return found.has('lost') ? 'lost' : found.has('kept') ? 'kept' : 'freed';
  }

  /** Extends until all last for `ms`: by the last answer, the first lease may last for less. */
  async #lasting(ms: number, what: (lease: Lease) => Promise<number>): Promise<number> {
    await this.#each(what);
    for (let tries = 1; this.remaining < ms && tries < EXTENSIONS_MAX; tries++) {
      await this.#each((lease) => lease.ensure(ms));
    }
    const least = this.#leases.find(({ remaining }) => remaining < ms);
    if (least !== undefined) throw notExtended(least, ms);
    return this.remaining;
  }

  async #each(what: (lease: Lease) => Promise<number>): Promise<void> {
    const answers = await Promise.allSettled(this.#leases.map(what));
    const failed = answers.filter((answer) => answer.status === 'rejected');
    const reasons = failed.map(({ reason }) => reason as Error);
    // a loss is final, an uncertain result is not
    const worst = reasons.find((reason) => isHoldfastError(reason, 'HOLDFAST_LOST')) ?? reasons[0];
    if (worst !== undefined) throw worst;
  }
}
