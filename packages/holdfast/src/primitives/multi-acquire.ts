/**
 * Taking several locks, all or none, without deadlock.
 *
 *     asking for all --all granted--> held
 *          \--one refused--> waiting for it --granted--> asking for those behind it --> …
 *     any --timeout, abort, failure, loss--> given back, and rejected
 *
 * Asking does not queue, and goes out in one turn of the event loop: one round trip. Of what is
 * granted only the part before the first refusal is kept; the rest goes back at once, because who
 * waits may hold only what comes before it in the order. Waiting is for one lock at a time, in the
 * store's queue. All gatherings wait in one global order, so the locks that a circle of them waited
 * for would grow around that circle: there is none (hold-and-wait without circular wait; Havender,
 * 1968). The queue is first in, first out, so nobody starves either (I4).
 *
 * Invariant: whatever ends a gathering without its result, each lease that it was granted is
 * released (I6); a request that was not answered is withdrawn by the waiting room.
 */
import { onAbort } from '../abort.js';
import type { Clock } from '../clock.js';
import { HoldfastError, isHoldfastError } from '../errors.js';
import type { Lease } from '../lease/lease.js';
import type { AcquireOptions } from '../options.js';
import * as failures from '../acquire/failures.js';
import { type Acquirer, quietly } from './acquirer.js';
import { quote } from '../text.js';

/** After a refusal this many are asked for at once, and twice as many each time all are granted. */
const PROBE_MIN = 16;

/** What bounds a gathering as a whole. */
export interface MultiAcquireLimits {
  /** Ms for all of it; 0 to ask once and not wait. */
  readonly wait: number;
  readonly signal: AbortSignal | undefined;
}

/** The leases of several locks, and one signal that aborts when any of them is lost. */
export interface MultiAcquired {
  readonly leases: readonly Lease[];
  readonly lost: AbortSignal;
}

export class MultiAcquire {
  readonly #clock: Clock;
  readonly #acquirers: readonly Acquirer<Lease>[];
  readonly #options: AcquireOptions;
  readonly #bounds: MultiAcquireLimits;
  readonly #leases: Lease[] = [];
  /** When the wait ends. */
  #until = 0;
  #asked = false;
  /** Why the store did not answer, when it was asked last. */
  #trouble: Error | undefined;
  readonly #lost = new AbortController();
  /** Ends whatever is being asked for; its reason is the error to reject with. */
  readonly #end = new AbortController();

  /** @param faces in the global order, without duplicates */
  constructor(
    clock: Clock,
    acquirers: readonly Acquirer<Lease>[],
    options: AcquireOptions,
    bounds: MultiAcquireLimits,
  ) {
    this.#clock = clock;
    this.#acquirers = acquirers;
    this.#options = { ...options, signal: this.#end.signal };
    this.#bounds = bounds;
  }

  /** Resolves to `null` if there is no time to wait and not all are free. */
  async take(): Promise<MultiAcquired | null> {
    this.#until = this.#clock.now() + this.#bounds.wait;
    const unbound = this.#bind();
    try {
      if (!(await this.#takeAll())) return null;
      this.#check();
      return { leases: this.#leases, lost: this.#lost.signal };
    } catch (error) {
      const { aborted, reason } = this.#end.signal;
      this.#release();
      throw aborted ? reason : error;
    } finally {
      unbound();
    }
  }

  async #takeAll(): Promise<boolean> {
    let count = this.#acquirers.length;
    while (this.#leases.length < this.#acquirers.length) {
      if (await this.#ask(count)) {
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

  /** Waits in the queue of one lock, for what is left of the whole wait. */
  async #waitFor(next: Acquirer<Lease>): Promise<Lease> {
    const wait = this.#until - this.#clock.now();
    if (wait <= 0) throw this.#trouble ?? this.#timedOut();
    try {
      return await next.acquire(1, { ...this.#options, wait });
    } catch (error) {
      throw isHoldfastError(error, 'HOLDFAST_TIMEOUT') ? this.#timedOut() : error;
    }
  }

  /** Asks for the next ones in one turn, and keeps those before the first that is not granted. */
  async #ask(count: number): Promise<boolean> {
    const from = this.#leases.length;
    const asked = this.#acquirers.slice(from, from + count);
    const options = { ...this.#options, wait: 0 };
    const asking = asked.map((acquirer) => acquirer.tryAcquire(1, options));
    const answers = await this.#inTime(Promise.allSettled(asking));
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
    // now and not later, so that all goes back in one turn
    if (failure !== undefined || (!inOrder && this.#bounds.wait === 0)) this.#release();
    if (failure !== undefined) throw failure;
    this.#check();
    return inOrder;
  }

  /** The first question is awaited whatever the limit (a wait of 0 would); others end at it. */
  async #inTime<T>(asking: Promise<T>): Promise<T> {
    const limited = this.#asked && Number.isFinite(this.#until) && this.#bounds.wait > 0;
    this.#asked = true;
    const late = (): void => this.#end.abort(this.#timedOut());
    const left = this.#until - this.#clock.now();
    const timer = limited ? this.#clock.after(left, late) : undefined;
    try {
      return await asking;
    } finally {
      timer?.cancel();
    }
  }

  /** Whoever has time to wait waits for a store that is silent, too. */
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

  /** Throws if the gathering was ended, or a lease that it has is over. */
  #check(): void {
    // looking at a signal notices a deadline that passed while the event loop stood still
    for (const lease of this.#leases) if (lease.signal.aborted) break;
    this.#end.signal.throwIfAborted();
  }

  #release(): void {
    for (const lease of this.#leases) void quietly(lease.release());
  }

  /** Ends the gathering with the caller's signal; returns what undoes that. */
  #bind(): () => void {
    const { signal } = this.#bounds;
    const abort = (): void => this.#end.abort(failures.aborted(this.#next, signal?.reason));
    if (signal?.aborted === true) abort();
    return signal === undefined ? () => undefined : onAbort(signal, abort);
  }

  /** The key that is waited for. */
  get #next(): string {
    const { length } = this.#leases;
    return (this.#acquirers[Math.min(length, this.#acquirers.length - 1)] as Acquirer<Lease>).key;
  }

  #timedOut(): HoldfastError {
    const { length } = this.#acquirers;
    const key = this.#next;
    const message =
      `Holdfast: ${length} keys were not granted within ${this.#bounds.wait} ms; ` +
      `${quote(key)} was waited for, with ${this.#leases.length} of them held`;
    return new HoldfastError('HOLDFAST_TIMEOUT', message, { key });
  }
}
