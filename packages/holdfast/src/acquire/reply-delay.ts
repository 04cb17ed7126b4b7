/**
 * By how much longer replies take than the fastest one did: the load of the server, the network and
 * this event loop together.
 *
 * Polls must not add to an overload: while hand-offs take longer, a waiter that asks as often as
 * before asks more often for each of them. So the period of polls grows with this delay, and is as
 * before from the first fast reply on.
 */

/** The part of a new measurement in the mean. */
const NEW = 1 / 8;
/** The period of polls is at least so many delays, but grows by no more than the factor. */
const DELAYS = 64;
const FACTOR_MAX = 4;

export class ReplyDelay {
  #fastest = Number.POSITIVE_INFINITY;
  #mean = Number.POSITIVE_INFINITY;
  #last = 0;

  /** In ms. */
  took(ms: number): void {
    this.#fastest = Math.min(this.#fastest, ms);
    this.#mean = this.#mean === Infinity ? ms : this.#mean + (ms - this.#mean) * NEW;
    this.#last = ms;
  }

  /** In ms. `usual` is enough without a load. */
  period(usual: number): number {
    const delay = Math.min(this.#mean, this.#last) - this.#fastest;
    return Math.min(FACTOR_MAX * usual, Math.max(usual, DELAYS * delay || 0));
  }
}
