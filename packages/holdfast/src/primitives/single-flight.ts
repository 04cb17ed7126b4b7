/**
 * Single flight: the steps of one caller.
 *
 *     fresh? --yes--> done
 *        \--no--> join --led--> done          (in this process; its callers share the value)
 *                   \---ended--> fresh? ...   (in another process; `fresh` finds the value)
 *
 * Callers of one process share one flight; only flights send requests to the store.
 */
import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks';
import { aborted, onAbort } from '../base/abort.js';
import type { Timer } from '../base/clock.js';
import type { Core } from '../acquire/core.js';
import { badOption } from '../base/errors.js';
import { Lease } from '../lease/lease.js';
import { known } from '../base/checks.js';
import type { AcquireOptions, LockOptions } from '../base/options.js';
import * as failures from '../acquire/failures.js';
import { checkWork, Acquirer } from './acquirer.js';
import { Flight, type FlightOutcome, type Caller, SEATS } from './flight.js';

/** See the same names in `LockOptions`. A flight has those of the caller that began it. */
export type SingleFlightOptions = Pick<LockOptions, 'ttl' | 'maxHold' | 'label'>;

export interface FlightOptions {
  /** Longest time to wait for another caller's computation, in ms. Default: no limit. */
  readonly wait?: number | undefined;
  /** Stops the wait, but no computation. */
  readonly signal?: AbortSignal | undefined;
}

/** How to find a result, and how to compute it. */
export interface FlightWork<T> {
  /** Reads the stored result; `undefined` or `null` if there is no fresh one. */
  readonly fresh: () => T | null | undefined | Promise<T | null | undefined>;
  /** Computes the result, and stores it where `fresh` reads it. */
  readonly compute: (lease: Lease) => T | Promise<T>;
}

/** `led`: this caller computed. */
export type FlightResult<T> = { readonly led: true; readonly value: T } | { readonly led: false };

const OPTIONS = new Set<string>(['ttl', 'maxHold', 'label']);
const CALL = new Set<string>(['wait', 'signal']);
const WORK = new Set<string>(['fresh', 'compute']);

const flights = new WeakMap<Core, Map<string, Flight>>();

/** Prevents simultaneous computations of one result, for example when a cache entry expires. */
export class SingleFlight {
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
    const subject = { key, kind: 'flight', capacity: SEATS } as const;
    this.#lead = new Acquirer(core, subject, { ...options, renew: true }, Lease);
    // a seat is released at once, or expires after a claim window if its process died
    const { claimWindow } = core.settings;
    const { label } = options;
    const seat = { ttl: claimWindow, renew: false, ...(label !== undefined && { label }) };
    this.#wait = new Acquirer(core, subject, seat, Lease);
    this.#flights = flights.get(core) ?? new Map<string, Flight>();
    flights.set(core, this.#flights);
  }

  /**
   * Resolves to the result of `fresh`. If there is none, one caller of all processes computes it;
   * the others wait for the end and call `fresh` again.
   *
   * Callers of the same process share the computed value, or the error. If a computation failed or
   * its process died, the waiting processes try one after another, in the order of arrival at the
   * store: each calls `fresh` again, and computes if there is no result.
   *
   * `compute` receives a lease. Its `signal` aborts if the lock is lost; another process may
   * compute then. Its `fence` lets the storage of the results reject an older one. The value is
   * returned even if the lock was lost.
   *
   * Cancellation: a caller that stops waiting does not affect the others. A computation that has
   * begun continues, and its own caller waits for it regardless of `wait` and `signal`. Rejects
   * with the error of `fresh` or `compute`, and as `Mutex.acquire` does.
   */
  async run<T>(work: FlightWork<T>, options: FlightOptions = {}): Promise<T> {
    known('work', work, WORK);
    const { fresh, compute } = work;
    if (typeof fresh !== 'function') throw badOption('fresh', 'a function', fresh);
    if (typeof compute !== 'function') throw badOption('compute', 'a function', compute);
    const limits = this.#limits(options);
    const attempt = async (lease: Lease): Promise<T> => {
      return (await fresh()) ?? compute(lease);
    };
    for (let again = false; ; again = true) {
      const found = await fresh();
      if (found !== undefined && found !== null) return found;
      const { outcome } = await failures.fromCaller(this.#join(attempt, again, limits));
      // callers of one process that share a key expect the same type
      if (outcome.kind === 'led') return outcome.value as T;
      if (outcome.kind === 'failed') throw outcome.error;
    }
  }

  /**
   * Computes, unless another caller of any process does; then waits until that ends, with or
   * without success, and resolves to `{ led: false }`. Rejects with the error of `compute`, and as
   * `Mutex.acquire` does. Cancellation is that of `run`.
   */
  async do<T>(
    compute: (lease: Lease) => T | Promise<T>,
    options: FlightOptions = {},
  ): Promise<FlightResult<T>> {
    checkWork(compute);
    const joined = this.#join(compute, false, this.#limits(options));
    const { outcome, own } = await failures.fromCaller(joined);
    if (!own || outcome.kind === 'ended') return { led: false };
    if (outcome.kind === 'failed') throw outcome.error;
    return { led: true, value: outcome.value as T };
  }

  /** The work in the context of its caller. Throws inside a computation of the same key. */
  #bound(given: Caller['work']): Caller['work'] {
    const { key } = this;
    const outer = innermostOpen(inside.getStore());
    const computation: Computation = { flights: this.#flights, key, outer };
    for (let around = outer; around !== undefined; around = around.outer) {
      const own = around.key === key && around.flights === this.#flights;
      if (own) throw failures.waitsForItself(key);
      around.outer = innermostOpen(around.outer);
    }
    // the flight runs in the context of its first caller
    const context = new AsyncResource('holdfast.flight');
    return async (lease: Lease): Promise<unknown> => {
      try {
        return await context.runInAsyncScope(() => inside.run(computation, given, lease));
      } finally {
        computation.ended = true;
      }
    };
  }

  #join(given: Caller['work'], again: boolean, limits: Limits): Promise<CallerOutcome> {
    const work = this.#bound(given);
    const { until, wait, signal } = limits;
    const { key } = this;
    const core = this.#core;
    const { clock } = core;
    if (signal?.aborted) return Promise.reject(aborted(key, signal.reason));
    if (core.closing) return Promise.reject(failures.closed(key));
    const flight = this.#flight(again);
    return new Promise((resolve, reject) => {
      let timer: Timer | undefined;
      const leave = (error: Error): void => {
        caller.stopWaiting();
        flight.leave(caller);
        reject(error);
      };
      const abort = (): void => leave(aborted(key, signal?.reason));
      let overdue = false;
      const end = (): void => {
        const { trouble } = flight;
        const timedOut = trouble === undefined;
        leave(timedOut ? failures.timedOut(key, wait) : failures.unreachable(key, trouble));
      };
      const late = (): void => {
        overdue = flight.asks();
        if (!overdue) end();
      };
      const caller: Caller = {
        work,
        onReply: () => {
          if (overdue) end();
        },
        onWaiting: () => {
          if (overdue) end();
          else if (wait !== Infinity) timer ??= clock.after(until - clock.now(), late);
        },
        stopWaiting: () => {
          overdue = false;
          timer?.cancel();
          unbind?.();
          unhook();
        },
        onOutcome: (outcome) => {
          caller.stopWaiting();
          resolve({ outcome, own: outcome.kind !== 'ended' && outcome.by === caller });
        },
        onFailure: (error) => {
          caller.stopWaiting();
          reject(error instanceof Error ? error : new Error(String(error)));
        },
      };
      const unbind = signal && onAbort(signal, abort);
      flight.join(caller);
      const unhook = core.onClose(() => leave(failures.closed(key)));
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

interface Computation {
  readonly flights: ReadonlyMap<string, Flight>;
  readonly key: string;
  outer: Computation | undefined;
  ended?: boolean;
}

const inside = new AsyncLocalStorage<Computation>();

function innermostOpen(computation: Computation | undefined): Computation | undefined {
  let open = computation;
  while (open?.ended === true) open = open.outer;
  return open;
}

interface Limits {
  readonly until: number;
  readonly wait: number;
  readonly signal: AbortSignal | undefined;
}

interface CallerOutcome {
  readonly outcome: FlightOutcome;
  readonly own: boolean;
}
