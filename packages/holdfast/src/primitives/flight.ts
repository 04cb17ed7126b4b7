/**
 * One flight of one key in this process: who is on board, and who computes.
 *
 *     asking --alone--> computing --end--> landed (led, or failed)
 *        \---another process computes--> waiting for its end --> landed (ended)
 *     asking, waiting --nobody on board any more--> given up
 *
 * In the store a flight is a resource with as many seats as there can be waiters. Who computes has
 * all of them; who waits asks for one. So the end of the flight, whatever it was (release, expiry),
 * lets all waiters in together, in one command, and none of them has to hand over to the next.
 *
 * After a flight that brought nothing fresh, candidates ask for all seats, in turn: one computes,
 * never all at once.
 */
import type { Lease } from '../lease/lease.js';
import { type Acquirer, quietly } from './acquirer.js';

/** Seats of a flight: more than can wait (I9: `maxQueue` is 1,000,000 at most). */
export const SEATS = 2_000_000;

/** Somebody in this process who wants the flight's result. */
export interface Caller {
  /** What it would compute. */
  readonly work: (lease: Lease) => unknown;
  /** Somebody else computes, or is about to. May be called again. */
  waits(): void;
  /** The store has answered the flight that it must wait, or has not answered it. */
  told(): void;
  /** Its own work is being done: it waits for nobody any more. */
  flies(): void;
  onOutcome(outcome: FlightOutcome): void;
  /** There was no flight, for this reason. */
  failed(error: unknown): void;
}

/** How a flight ended, as far as this process knows. */
export type FlightOutcome =
  | { readonly kind: 'led'; readonly by: Caller; readonly value: unknown }
  | { readonly kind: 'failed'; readonly by: Caller; readonly error: unknown }
  | { readonly kind: 'ended' };

/** How a flight asks the store. */
export interface FlightLocks {
  /** Asks for all seats. */
  readonly lead: Acquirer<Lease>;
  /** Asks for one. */
  readonly wait: Acquirer<Lease>;
  /** Called once, when nobody can join any more. */
  readonly closed: () => void;
}

export class Flight {
  readonly #locks: FlightLocks;
  readonly #callers = new Set<Caller>();
  readonly #giveUp = new AbortController();
  #open = true;
  #waiting: boolean;
  #computing = false;
  #heard = false;
  #trouble: unknown;

  /** @param again true after a flight that brought nothing: this one computes if nobody else has */
  constructor(locks: FlightLocks, again: boolean) {
    this.#locks = locks;
    this.#waiting = again;
    void this.#fly(again);
  }

  join(caller: Caller): void {
    this.#callers.add(caller);
    if (this.#waiting) caller.waits();
  }

  /** True while it has neither an answer of the store nor a reason why there is none. */
  get silent(): boolean {
    return !this.#heard && this.#trouble === undefined;
  }

  /** Why the store's last answer was a failure, if it was one. */
  get trouble(): unknown {
    return this.#trouble;
  }

  /** Who leaves hears nothing more. The last one to leave gives the waiting up. */
  leave(caller: Caller): void {
    this.#callers.delete(caller);
    if (this.#callers.size > 0 || this.#computing) return;
    this.#close();
    this.#giveUp.abort();
  }

  async #fly(again: boolean): Promise<void> {
    try {
      const lease = await this.#lead(again);
      const outcome = lease === null ? ({ kind: 'ended' } as const) : await this.#compute(lease);
      this.#close();
      for (const one of this.#callers) one.onOutcome(outcome);
    } catch (error) {
      this.#close();
      for (const one of this.#callers) one.failed(error);
    }
  }

  /** The lease under which to compute, or `null` if another one did. */
  async #lead(again: boolean): Promise<Lease | null> {
    const { lead, wait } = this.#locks;
    const { signal } = this.#giveUp;
    const told = (trouble: unknown): void => this.#told(trouble);
    if (again) return lead.acquire(SEATS, { signal }, told);
    const lease = await lead.tryAcquire(SEATS, { signal });
    if (lease !== null) return lease;
    this.#told(undefined);
    this.#wait();
    const seat = await wait.acquire(1, { signal }, told);
    void quietly(seat.release());
    return null;
  }

  async #compute(lease: Lease): Promise<FlightOutcome> {
    const [by] = this.#callers;
    if (by === undefined) {
      void quietly(lease.release());
      return { kind: 'ended' };
    }
    this.#computing = true;
    by.flies();
    this.#wait(by);
    try {
      return { kind: 'led', by, value: await by.work(lease) };
    } catch (error) {
      return { kind: 'failed', by, error };
    } finally {
      // whoever comes now finds what is fresh, or starts a flight that the store puts behind this
      void quietly(lease.release());
    }
  }

  #told(trouble: unknown): void {
    this.#trouble = trouble;
    this.#heard ||= trouble === undefined;
    for (const one of this.#callers) one.told();
  }

  #wait(except?: Caller): void {
    this.#waiting = true;
    for (const one of this.#callers) if (one !== except) one.waits();
  }

  #close(): void {
    if (!this.#open) return;
    this.#open = false;
    this.#locks.closed();
  }
}
