/**
 * Single flight: of many who want the same result, in all processes, one computes it.
 *
 *     fresh? --yes--> done
 *        \--no--> board --led--> done          (in this process; the value is shared here)
 *                   \----ended--> fresh? ...   (elsewhere: the value is where `fresh` looks)
 *
 * Callers of one process share one flight; only flights ask the store.
 */
import { onAbort } from '../abort.js';
import type { Timer } from '../clock.js';
import type { Core } from '../core.js';
import { badOption } from '../errors.js';
import type { Lease } from '../lease/lease.js';
import { known } from '../checks.js';
import type { AcquireOptions, LockOptions } from '../options.js';
import * as failures from '../acquire/failures.js';
import { checkWork, Acquirer, plainLease } from './acquirer.js';
import { Flight, type FlightOutcome, type Caller, SEATS } from './flight.js';

/** What a single flight may be made with: see the same names in `LockOptions`. */
export type SingleFlightOptions = Pick<LockOptions, 'ttl' | 'maxHold' | 'label'>;

/** What one call may say. */
export interface FlightOptions {
  /** Longest time to wait for what somebody else computes. Default: no limit. */
  readonly wait?: number;
  /** Gives the waiting up. Does not stop a computation: it has a signal of its own. */
  readonly signal?: AbortSignal;
}

/** How to find a result, and how to make it. */
export interface FlightWork<T> {
  /** Looks where results are kept; `undefined` if there is none, or none that is fresh. */
  readonly fresh: () => T | undefined | Promise<T | undefined>;
  /** Makes the result, and puts it where `fresh` looks. */
  readonly compute: (lease: Lease) => T | Promise<T>;
}

/** What came of `do`. */
export type FlightResult<T> = { readonly led: true; readonly value: T } | { readonly led: false };

const OPTIONS = new Set<string>(['ttl', 'maxHold', 'label']);
const CALL = new Set<string>(['wait', 'signal']);
const WORK = new Set<string>(['fresh', 'compute']);

/** The flights of each instance that can still be joined, by key. */
const flights = new WeakMap<Core, Map<string, Flight>>();

/** Keeps many from computing the same thing at the same time, as when a cache entry expires. */
export class SingleFlight {
  /** What is computed once. */
  readonly key: string;
  readonly #core: Core;
  readonly #lead: Acquirer<Lease>;
  readonly #wait: Acquirer<Lease>;
  readonly #flights: Map<string, Flight>;

  /** @internal */
  constructor(core: Core, key: string, options: SingleFlightOptions) {
    known('options', options, OPTIONS);
    this.key = key;
    this.#core = core;
    const subject = { key, capacity: SEATS };
    this.#lead = new Acquirer(core, subject, { ...options, renew: true }, plainLease);
    // a seat is given back at once: one that is not, of a process that died, ends soon
    const { claimWindow } = core.settings;
    const { label } = options;
    const seat = { ttl: claimWindow, renew: false, ...(label !== undefined && { label }) };
    this.#wait = new Acquirer(core, subject, seat, plainLease);
    this.#flights = flights.get(core) ?? new Map<string, Flight>();
    flights.set(core, this.#flights);
  }

  /**
   * Resolves to what is fresh; if nothing is, one caller of all processes computes it, and the
   * others wait for that, and look again.
   *
   * Callers of the same process share the computed value, or the error with which it failed.
   * Elsewhere, when a computation failed or its process died, one caller computes, after having
   * looked again; then the next, if that brought nothing either: never two at once, in the order of
   * their arrival at the store.
   *
   * `compute` gets a lease: its `signal` aborts if the lock is lost, and another may compute then;
   * its `fence` lets the place where results are kept refuse the older one. The value is returned
   * all the same.
   *
   * Cancellation: who gives up leaves the others on board; a computation that has begun goes on,
   * and its own caller waits for it whatever `wait` and `signal` say. Rejects with the error of
   * `fresh` or `compute`, and as `Mutex.acquire` does.
   */
  async run<T>(work: FlightWork<T>, options: FlightOptions = {}): Promise<T> {
    known('work', work, WORK);
    const { fresh, compute } = work;
    if (typeof fresh !== 'function') throw badOption('fresh', 'a function', fresh);
    if (typeof compute !== 'function') throw badOption('compute', 'a function', compute);
    const limits = this.#limits(options);
    const attempt = async (lease: Lease): Promise<T> => {
      const found = await fresh();
      return found === undefined ? compute(lease) : found;
    };
    for (let again = false; ; again = true) {
      const found = await fresh();
      if (found !== undefined) return found;
      const { outcome } = await this.#board(attempt, again, limits);
      // the callers of one process want the same thing, or they would not share a key
      if (outcome.kind === 'led') return outcome.value as T;
      if (outcome.kind === 'failed') throw outcome.error;
    }
  }

  /**
   * Computes, unless somebody does already, here or elsewhere; then it waits for that to end, in
   * whatever way. What became of it is for the caller to find out. Rejects with the error of
   * `compute`, and as `Mutex.acquire` does; cancellation as with `run`.
   */
  async do<T>(
    compute: (lease: Lease) => T | Promise<T>,
    options: FlightOptions = {},
  ): Promise<FlightResult<T>> {
    checkWork(compute);
    const { outcome, own } = await this.#board(compute, false, this.#limits(options));
    if (!own || outcome.kind === 'ended') return { led: false };
    if (outcome.kind === 'failed') throw outcome.error;
    return { led: true, value: outcome.value as T };
  }

  /** On the flight of this process, which is started if there is none. */
  #board(work: Caller['work'], again: boolean, limits: Limits): Promise<FlightResultOf> {
    const { key } = this;
    const { until, wait, signal } = limits;
    if (signal?.aborted) return Promise.reject(failures.aborted(key, signal.reason));
    const flight = this.#flight(again);
    const { clock } = this.#core;
    return new Promise((resolve, reject) => {
      let timer: Timer | undefined;
      const leave = (error: Error): void => {
        caller.flies();
        flight.leave(caller);
        reject(error);
      };
      const abort = (): void => leave(failures.aborted(key, signal?.reason));
      let overdue = false;
      const end = (): void => {
        const { trouble } = flight;
        const timedOut = trouble === undefined;
        leave(timedOut ? failures.timedOut(key, wait) : failures.unreachable(key, trouble));
      };
      const late = (): void => {
        // the first answer is awaited: a wait gets no less than one who does not wait
        overdue = flight.silent;
        if (!overdue) end();
      };
      const caller: Caller = {
        work,
        told: () => {
          if (overdue) end();
        },
        waits: () => {
          if (overdue) end();
          else if (wait !== Infinity) timer ??= clock.after(until - clock.now(), late);
        },
        flies: () => {
          timer?.cancel();
          unbind?.();
        },
        onOutcome: (outcome) => {
          caller.flies();
          resolve({ outcome, own: outcome.kind !== 'ended' && outcome.by === caller });
        },
        failed: (error) => {
          caller.flies();
          reject(error instanceof Error ? error : new Error(String(error)));
        },
      };
      const unbind = signal && onAbort(signal, abort);
      flight.join(caller);
    });
  }

  #flight(again: boolean): Flight {
    let flight = this.#flights.get(this.key);
    if (flight !== undefined) return flight;
    const closed = (): void => void this.#flights.delete(this.key);
    flight = new Flight({ lead: this.#lead, wait: this.#wait, closed }, again);
    this.#flights.set(this.key, flight);
    return flight;
  }

  #limits(options: FlightOptions): Limits {
    known('options', options, CALL);
    const call: AcquireOptions = options;
    const { wait, signal } = this.#lead.terms(call, Number.POSITIVE_INFINITY);
    return { until: this.#core.clock.now() + wait, wait, signal };
  }
}

interface Limits {
  /** When the waiting ends, on our clock. */
  readonly until: number;
  readonly wait: number;
  readonly signal: AbortSignal | undefined;
}

interface FlightResultOf {
  readonly outcome: FlightOutcome;
  /** Whether it was this caller's work that was done. */
  readonly own: boolean;
}
