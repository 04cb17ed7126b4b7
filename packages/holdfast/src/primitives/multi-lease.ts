/** What the holder of several locks holds: their leases, looked after as one. */
import { type HoldfastError, isHoldfastError } from '../errors.js';
import type { Lease, ReleaseOutcome } from '../lease/lease.js';
import { duration } from '../checks.js';
import type { MultiAcquired } from './multi-acquire.js';

/** What a release found for one of several keys; `uncertain` if the store did not answer for it. */
export type KeyOutcome = ReleaseOutcome | 'uncertain';

const LONGEST_MS = 86_400_000;

/**
 * The locks of several keys, granted together.
 *
 * Each key has a lease of its own, with its own fence; they are renewed with all others of the
 * process. The locks are released together. When one is lost, `signal` aborts and `held` is false;
 * the others stay held until `release`, for the work to stop in peace.
 */
export class MultiLease implements AsyncDisposable {
  /** What is locked: each key once, in the order in which locks are waited for. */
  readonly keys: readonly string[];
  /**
   * The fence of each key: a number greater than that of every earlier lease of that key. Of two
   * keys' fences neither says anything about the other.
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
   * Aborts when any of the leases is lost, with the `HOLDFAST_LOST` error of the first, whose `key`
   * names it. It does not abort on release.
   */
  get signal(): AbortSignal {
    // each notices a deadline of its own that passed while the event loop stood still
    for (const lease of this.#leases) if (lease.signal.aborted) break;
    return this.#lost;
  }

  /** True while all the locks are surely held. */
  get held(): boolean {
    return this.#leases.every(({ held }) => held);
  }

  /** Resolves to `held` once that is certain of each, see {@link Lease.verify}. */
  async verify(): Promise<boolean> {
    const verified = await Promise.all(this.#leases.map((lease) => lease.verify()));
    return verified.every(Boolean) && this.held;
  }

  /** Milliseconds for which all are surely held without another renewal. 0 if one is not. */
  remaining(): number {
    let least = Number.POSITIVE_INFINITY;
    for (const lease of this.#leases) least = Math.min(least, lease.remaining());
    return least;
  }

  /** Throws as `Lease.assertHeld` does, of the first key that is not held, unless `held`. */
  assertHeld(): void {
    for (const lease of this.#leases) lease.assertHeld();
  }

  /**
   * Makes sure that all are held for at least `ms` from now, and asks the store for those that it
   * must, in one round trip. Resolves to `remaining()`; rejects as `Lease.ensure` does, with the
   * error of a lease that was lost before all others.
   */
  async ensure(ms: number): Promise<number> {
    duration('ms', ms, 0, 0, LONGEST_MS);
    return this.#each((lease) => lease.ensure(ms));
  }

  /**
   * Extends all to at least `ms` from now, in one round trip. Resolves and rejects as `ensure`
   * does; those that were extended when another could not be stay so.
   */
  async extend(ms: number): Promise<number> {
    duration('ms', ms, 0, 1, LONGEST_MS);
    return this.#each((lease) => lease.extend(ms));
  }

  /**
   * What the release found for each key; empty before it is answered.
   */
  get outcomes(): ReadonlyMap<string, KeyOutcome> {
    return this.#outcomes;
  }

  /**
   * Gives all back, in one round trip. Resolves to `lost` if one of them was lost before, to `kept`
   * if the owner keeps one of them, to `freed` otherwise; `outcomes` tells them apart.
   *
   * Repeating it answers the same, and no repetition touches a newer lease. Rejects with
   * `HOLDFAST_UNCERTAIN` if the store does not answer for one of them; that one is tried further in
   * the background until its lease has ended by itself, and the others are released.
   */
  release(): Promise<ReleaseOutcome> {
    this.#released ??= this.#release();
    return this.#released;
  }

  /** Releases at the end of an `await using` block. Locks that were lost are no error here. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }

  /**
   * Why it is not held: of the lease that was lost first, if one was.
   * @internal
   */
  get loss(): HoldfastError {
    const { aborted, reason } = this.signal;
    if (aborted) return reason;
    const lost = this.#leases.find(({ key }) => this.#outcomes.get(key) === 'lost');
    const [first] = this.#leases as [Lease];
    return (lost ?? first).loss;
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

  async #each(what: (lease: Lease) => Promise<number>): Promise<number> {
    const answers = await Promise.allSettled(this.#leases.map(what));
    const failed = answers.filter((answer) => answer.status === 'rejected');
    const reasons = failed.map(({ reason }) => reason as Error);
    // a loss is final, and must not hide behind another's doubt
    const worst = reasons.find((reason) => isHoldfastError(reason, 'HOLDFAST_LOST')) ?? reasons[0];
    if (worst !== undefined) throw worst;
    return this.remaining();
  }
}
