/**
 * One flight of one key in this process.
 *
 *     requested --granted--> computing --end--> ended (led, or failed)
 *        \---another process computes--> waiting for its end --> ended
 *     requested, waiting --last caller leaves--> abandoned
 *
 * In the store a flight is a resource with more permits ("seats") than it can have waiters. The
 * process that computes holds all, a waiting one requests one. So the end of the computation
 * (release or expiry) grants all waiters in one command.
 *
 * After a flight without a fresh result, the candidates request all seats, so they compute one
 * after another.
 */
import type { Lease } from '../lease/lease.js';
import { type Acquirer, quietly } from './acquirer.js';

/** More than can wait (I9): `maxQueue` is 1,000,000 at most. */
export const SEATS = 2_000_000;

export interface Caller {
  readonly work: (lease: Lease) => unknown;
  /** Another caller computes, or will soon. May be called again. */
  onWaiting(): void;
  onReply(): void;
  /** The flight runs this caller's work. */
  stopWaiting(): void;
  onOutcome(outcome: FlightOutcome): void;
  onFailure(error: unknown): void;
}

export type FlightOutcome =
  | { readonly kind: 'led'; readonly by: Caller; readonly value: unknown }
  | { readonly kind: 'failed'; readonly by: Caller; readonly error: unknown }
  | { readonly kind: 'ended' };

export interface FlightLocks {
  readonly lead: Acquirer<Lease>;
  readonly wait: Acquirer<Lease>;
  readonly closed: () => void;
}

export class Flight {
  readonly #locks: FlightLocks;
  readonly #callers = new Set<Caller>();
  readonly #giveUp = new AbortController();
  #open = true;
  #waiting: boolean;
  #computing = false;
  #replied = false;
  #trouble: unknown;
  #ask: (() => boolean) | undefined;

  constructor(locks: FlightLocks, again: boolean) {
    this.#locks = locks;
    this.#waiting = again;
    void this.#run(again);
  }

  join(caller: Caller): void {
    this.#callers.add(caller);
    if (this.#waiting) caller.onWaiting();
  }

  /** After a caller's wait: whether to await a reply. May ask. */
  asks(): boolean {
    if (this.#trouble !== undefined || this.#computing) return false;
    return !this.#replied || this.#ask?.() === true;
  }

  get trouble(): unknown {
    return this.#trouble;
  }

  leave(caller: Caller): void {
    this.#callers.delete(caller);
    if (this.#callers.size > 0 || this.#computing) return;
    this.#close();
    this.#giveUp.abort();
  }

  async #run(again: boolean): Promise<void> {
    try {
      const lease = await this.#lead(again);
      const outcome = lease === null ? ({ kind: 'ended' } as const) : await this.#compute(lease);
      this.#close();
      for (const caller of this.#callers) caller.onOutcome(outcome);
    } catch (error) {
      this.#close();
      for (const caller of this.#callers) caller.onFailure(error);
    }
  }

  /** `null` if another process computed. */
  async #lead(again: boolean): Promise<Lease | null> {
    const { lead, wait } = this.#locks;
    const { signal } = this.#giveUp;
    const events = {
      onProgress: (trouble: unknown): void => this.#onReply(trouble),
      onBegun: (ask: () => boolean): void => void (this.#ask = ask),
    };
    if (again) return lead.acquire(SEATS, { signal }, events);
    const lease = await lead.tryAcquire(SEATS, { signal });
    if (lease !== null) return lease;
    this.#onReply(undefined);
    this.#wait();
    let queued = false;
    const onProgress = (trouble: unknown): void => {
      if (trouble === undefined) queued = true;
      this.#onReply(trouble);
    };
    const seat = await wait.acquire(1, { signal }, { ...events, onProgress });
    void quietly(seat.release());
    // at once: nothing is computed, and seats of others may have been the reason of the refusal
    return queued ? null : lead.acquire(SEATS, { signal }, events);
  }

  async #compute(lease: Lease): Promise<FlightOutcome> {
    const [by] = this.#callers;
    if (by === undefined) {
      void quietly(lease.release());
      return { kind: 'ended' };
    }
    this.#computing = true;
    by.stopWaiting();
    // a grant is a reply: a caller that joined may stop waiting
    this.#onReply(undefined);
    this.#wait(by);
    try {
      return { kind: 'led', by, value: await by.work(lease) };
    } catch (error) {
      return { kind: 'failed', by, error };
    } finally {
      // a later caller finds a fresh result, or its flight is queued behind this one
      void quietly(lease.release());
    }
  }

  #onReply(trouble: unknown): void {
    this.#trouble = trouble;
    this.#replied ||= trouble === undefined;
    for (const caller of this.#callers) caller.onReply();
  }

  #wait(except?: Caller): void {
    this.#waiting = true;
    for (const caller of this.#callers) if (caller !== except) caller.onWaiting();
  }

  #close(): void {
    if (!this.#open) return;
    this.#open = false;
    this.#locks.closed();
  }
}
