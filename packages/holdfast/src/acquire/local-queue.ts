/**
 * The waiters of one key in this process, in order of arrival here, and the timer that looks after
 * them all.
 *
 * Push makes hand-off fast, polling makes it certain (I5): the timer fires just after the present
 * lease must have ended if nobody renewed it, and at least once in a claim window, so that a grant
 * to a frozen process is noticed within one.
 */
import type { Clock, Timer } from '../clock.js';
import type { LeaseRecord } from '../lease/lease-record.js';
import type { Acquisition } from './acquisition.js';

/** How long after an expected expiry to ask: the store must be past it by then. */
const PAST_EXPIRY_MS = 1;
/**
 * Where nobody holds and still nothing was granted, the store has more to serve than one command
 * does.
 */
const SERVED_IN_PART_MS = 2;

export class LocalQueue {
  readonly key: string;
  readonly #acquisitions = new Set<Acquisition>();
  readonly #clock: Clock;
  readonly #poll: (line: LocalQueue) => void;
  #timer: Timer | undefined;
  #pollAt = Number.POSITIVE_INFINITY;

  constructor(key: string, clock: Clock, poll: (line: LocalQueue) => void) {
    this.key = key;
    this.#clock = clock;
    this.#poll = poll;
  }

  get size(): number {
    return this.#acquisitions.size;
  }

  acquisitions(): IterableIterator<Acquisition> {
    return this.#acquisitions.values();
  }

  /** True if all wait for a signal, and nobody for the permits. */
  get asleep(): boolean {
    for (const acquisition of this.#acquisitions) if (!acquisition.asleep) return false;
    return true;
  }

  /** False if it was here already. */
  add(acquisition: Acquisition): boolean {
    if (this.#acquisitions.has(acquisition)) return false;
    this.#acquisitions.add(acquisition);
    return true;
  }

  /** False if it was not here. */
  remove(acquisition: Acquisition): boolean {
    if (!this.#acquisitions.delete(acquisition)) return false;
    if (this.#acquisitions.size === 0) this.#disarm();
    return true;
  }

  /**
   * Plans the next look.
   * @param next microseconds until the present lease may end, as the store just said; 0 if nobody
   * holds
   * @param period longest time until the next look
   */
  plan(next: number, period: number): void {
    if (this.#acquisitions.size === 0) return;
    const due = next === 0 ? SERVED_IN_PART_MS : next / 1000 + PAST_EXPIRY_MS;
    const at = this.#clock.now() + Math.min(due, period);
    if (at >= this.#pollAt) return;
    this.#disarm();
    this.#pollAt = at;
    this.#timer = this.#clock.after(at - this.#clock.now(), () => {
      this.#timer = undefined;
      this.#pollAt = Number.POSITIVE_INFINITY;
      this.#poll(this);
    });
  }

  /**
   * The waiter that takes a lease over without asking the store: the first one here that the store
   * knows and that asks for the same lease. None, if the lease has no pass left, or was passed on
   * for a claim window, or is soon over.
   *
   * The successor gets what is left of the lease, and of its own ttl at most. So a waiter that does
   * not renew is left to the store, which grants it the whole ttl. And the ttl must be the same: a
   * store that does not know the waiter (any more) takes the holder's.
   */
  successor(record: LeaseRecord, claimWindow: number): Acquisition | undefined {
    const now = this.#clock.now();
    if (record.handOffs === 0 || record.terms.owner !== '' || now - record.since > claimWindow)
      return;
    if (record.validUntil - now < Math.min(claimWindow, record.terms.ttl) / 2) return;
    for (const acquisition of this.#acquisitions) {
      const { terms, weight } = acquisition.request;
      const ordinary = terms.owner === '' && !terms.fair && terms.renew;
      const alike = weight === record.weight && terms.ttl === record.terms.ttl;
      if (ordinary && alike && acquisition.ticket !== 0 && !acquisition.asking) return acquisition;
    }
    return undefined;
  }

  #disarm(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#pollAt = Number.POSITIVE_INFINITY;
  }
}
