/**
 * The waiters of one key in this process, in order of arrival here, and the timer that looks after
 * them all.
 *
 * Push makes hand-off fast, polling makes it certain (I5): the timer fires just after the present
 * lease must have ended if nobody renewed it, and at least once in a claim window, so that a grant
 * to a frozen process is noticed within one.
 */
import type { Clock, Timer } from '../clock.js';
import type { Grip } from '../lease/grip.js';
import type { Waiter } from './waiter.js';

/** How long after an expected expiry to ask: the store must be past it by then. */
const PAST_EXPIRY_MS = 1;
/**
 * Where nobody holds and still nothing was granted, the store has more to serve than one command
 * does.
 */
const SERVED_IN_PART_MS = 2;

export class Line {
  readonly key: string;
  readonly #waiters = new Set<Waiter>();
  readonly #clock: Clock;
  readonly #poll: (line: Line) => void;
  #timer: Timer | undefined;
  #pollAt = Number.POSITIVE_INFINITY;

  constructor(key: string, clock: Clock, poll: (line: Line) => void) {
    this.key = key;
    this.#clock = clock;
    this.#poll = poll;
  }

  get size(): number {
    return this.#waiters.size;
  }

  waiters(): IterableIterator<Waiter> {
    return this.#waiters.values();
  }

  /** True if all wait for a signal, and nobody for the permits. */
  get asleep(): boolean {
    for (const waiter of this.#waiters) if (!waiter.asleep) return false;
    return true;
  }

  /** False if it was here already. */
  add(waiter: Waiter): boolean {
    if (this.#waiters.has(waiter)) return false;
    this.#waiters.add(waiter);
    return true;
  }

  /** False if it was not here. */
  remove(waiter: Waiter): boolean {
    if (!this.#waiters.delete(waiter)) return false;
    if (this.#waiters.size === 0) this.#disarm();
    return true;
  }

  /**
   * Plans the next look.
   * @param next microseconds until the present lease may end, as the store just said; 0 if nobody
   * holds
   * @param period longest time until the next look
   */
  plan(next: number, period: number): void {
    if (this.#waiters.size === 0) return;
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
  successor(grip: Grip, claimWindow: number): Waiter | undefined {
    const now = this.#clock.now();
    if (grip.passes === 0 || grip.terms.owner !== '' || now - grip.since > claimWindow) return;
    if (grip.validUntil - now < Math.min(claimWindow, grip.terms.ttl) / 2) return;
    for (const waiter of this.#waiters) {
      const { terms, weight } = waiter.wanted;
      const ordinary = terms.owner === '' && !terms.fair && terms.renew;
      const alike = weight === grip.weight && terms.ttl === grip.terms.ttl;
      if (ordinary && alike && waiter.ticket !== 0 && !waiter.asking) return waiter;
    }
    return undefined;
  }

  #disarm(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#pollAt = Number.POSITIVE_INFINITY;
  }
}
