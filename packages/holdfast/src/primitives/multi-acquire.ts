/**
 * Acquires several locks, all or none, without deadlock.
 *
 *     trying all --all granted--> held
 *          \--one refused--> waiting for it --granted--> trying those after it --> …
 *     any --timeout, abort, failure, loss--> released, and rejected
 *
 * A try does not queue; one turn takes one round trip. Only the locks before the first refusal are
 * kept, and the call waits for one lock at a time, in its queue. All calls use one global order, so
 * a circular wait is impossible (Havender, 1968). The queue is first in, first out, so no waiter
 * starves (I4).
 *
 * Invariant: if it ends without a result, each granted lease is released (I6). The core withdraws
 * requests without a reply.
 */
import { aborted, onAbort } from '../base/abort.js';
import type { Core } from '../acquire/core.js';
import { HoldfastError, isHoldfastError } from '../base/errors.js';
import type { Lease } from '../lease/lease.js';
import type { AcquireOptions } from '../base/options.js';
import * as failures from '../acquire/failures.js';
import { type Acquirer, quietly } from './acquirer.js';
import { MultiLease } from './multi-lease.js';
import { quote } from '../base/text.js';

/** Locks to try together after a refusal; doubled when all of them are granted. */
const PROBE_MIN = 16;

export interface MultiAcquireLimits {
  /** In ms; with 0 it tries once. */
  readonly wait: number;
  readonly signal: AbortSignal | undefined;
}

export interface MultiAcquired {
  readonly leases: readonly Lease[];
  readonly lost: AbortSignal;
}

/** `null` if `wait` is 0 and not all locks are free. */
export async function acquireAll(
  ...args: ConstructorParameters<typeof MultiAcquire>
): Promise<MultiLease | null> {
  const acquired = await new MultiAcquire(...args).take();
  return acquired === null ? null : new MultiLease(acquired);
}

export class MultiAcquire {
  readonly #core: Core;
  readonly #acquirers: readonly Acquirer<Lease>[];
  readonly #options: AcquireOptions;
  readonly #bounds: MultiAcquireLimits;
  readonly #leases: Lease[] = [];
  #until = 0;
  #trouble: Error | undefined;
  readonly #lost = new AbortController();
  /** Its reason is the error to reject with. */
  readonly #end = new AbortController();

  /** @param acquirers in the global order, each once */
  constructor(
    core: Core,
    acquirers: readonly Acquirer<Lease>[],
    options: AcquireOptions,
    bounds: MultiAcquireLimits,
  ) {
    this.#core = core;
    this.#acquirers = acquirers;
    this.#options = { ...options, signal: this.#end.signal };
    this.#bounds = bounds;
  }

  async take(): Promise<MultiAcquired | null> {
    this.#until = this.#core.clock.now() + this.#bounds.wait;
    const { signal } = this.#bounds;
    const abort = (): void => this.#end.abort(aborted(this.#next, signal?.reason));
    if (signal?.aborted) abort();
    const unfollow = signal && onAbort(signal, abort);
    const unhook = this.#core.onClose(() => {
      this.#end.abort(failures.closed(this.#next));
      // before the close ends them: no caller has these
      this.#release();
    });
    try {
      if (!(await this.#takeAll())) return null;
      this.#check();
      return { leases: this.#leases, lost: this.#lost.signal };
    } catch (error) {
      const { aborted, reason } = this.#end.signal;
      this.#release();
      throw failures.atCaller(aborted ? reason : error);
    } finally {
      unfollow?.();
      unhook();
    }
  }

  async #takeAll(): Promise<boolean> {
    const all = this.#acquirers.length;
    let count = all;
    while (this.#leases.length < all) {
      if (await this.#ask(this.#left > 0 ? count : all)) {
        count *= 2;
        continue;
      }
      if (this.#bounds.wait === 0) return false;
      this.#keep(await this.#waitFor(this.#acquirers[this.#leases.length] as Acquirer<Lease>));
      this.#check();
      count = PROBE_MIN;
    }
    return true;
  }

  async #waitFor(next: Acquirer<Lease>): Promise<Lease> {
    const wait = this.#left;
    if (wait <= 0) throw this.#trouble ?? this.#timedOut();
    try {
      return await next.acquire(1, { ...this.#options, wait });
    } catch (error) {
      throw isHoldfastError(error, 'HOLDFAST_TIMEOUT') ? this.#timedOut(error) : error;
    }
  }

  /** Tries locks, also beyond the wait. */
  async #ask(count: number): Promise<boolean> {
    const from = this.#leases.length;
    const asked = this.#acquirers.slice(from, from + count);
    const options = { ...this.#options, wait: 0 };
    const asking = asked.map((acquirer) => acquirer.tryAcquire(1, options));
    const answers = await Promise.allSettled(asking);
    let inOrder = true;
    let failure: Error | undefined;
    this.#trouble = undefined;
    for (const answer of answers) {
      const lease = answer.status === 'fulfilled' ? answer.value : null;
      if (answer.status === 'rejected') {
        if (this.#mayWait(answer.reason)) this.#trouble ??= answer.reason as Error;
        else failure ??= answer.reason as Error;
      }
      inOrder &&= lease !== null;
      if (lease === null) continue;
      if (inOrder) this.#keep(lease);
      else void quietly(lease.release());
    }
    // here, so that all releases leave in one turn
    if (failure !== undefined || (!inOrder && this.#bounds.wait === 0)) this.#release();
    if (failure !== undefined) throw failure;
    this.#check();
    return inOrder;
  }

  get #left(): number {
    return this.#until - this.#core.clock.now();
  }

  #mayWait(error: unknown): boolean {
    return this.#bounds.wait > 0 && isHoldfastError(error, 'HOLDFAST_UNREACHABLE');
  }

  #keep(lease: Lease): void {
    this.#leases.push(lease);
    const { signal } = lease;
    const lose = (): void => {
      this.#lost.abort(signal.reason);
      this.#end.abort(signal.reason);
    };
    if (signal.aborted) lose();
    else signal.addEventListener('abort', lose, { once: true });
  }

  #check(): void {
    // see `MultiLease.signal`
    for (const lease of this.#leases) if (lease.signal.aborted) break;
    this.#end.signal.throwIfAborted();
  }

  #release(): void {
    for (const lease of this.#leases) void quietly(lease.release());
  }

  get #next(): string {
    const { length } = this.#leases;
    return (this.#acquirers[Math.min(length, this.#acquirers.length - 1)] as Acquirer<Lease>).key;
  }

  #timedOut(cause?: HoldfastError): HoldfastError {
    const { length } = this.#acquirers;
    const key = this.#next;
    const message =
      `Holdfast: ${length} keys were not granted within ${this.#bounds.wait} ms; ` +
      `it waited for ${quote(key)} with ${this.#leases.length} of them held`;
    return new HoldfastError('HOLDFAST_TIMEOUT', message, { key, cause });
  }
}
