/**
 * By how much longer replies take than the fastest one: the load of the server, the network and
 * this event loop together.
 *
 * The poll period grows with this delay until the first fast reply: otherwise a slow hand-off would
 * cost more polls.
 */

/** The part of a new measurement in the mean. */
const NEW = 1 / 8;
/** The poll period is at least so many delays, but grows by no more than the factor. */
const DELAYS = 64;
const FACTOR_MAX = 4;

/** The store takes this process for dead after so many silent poll periods. */
const SILENT_PERIODS = 6;
/** A shorter silence may come from the network or from a busy process. */
const PATIENCE_MS_MIN = 250;

/** The shortest time for a reconnect and a repeated request. */
const RECONNECT_MS = 40;
/** The answers after which the fastest one is the normal round trip. */
const ANSWERS_MIN = 10;
/** After one to two of these times, in ms, a fastest answer counts no more. */
const SPAN_MS = 600_000;

export class ReplyDelay {
  #before = Number.POSITIVE_INFINITY;
  #lately = Number.POSITIVE_INFINITY;
  #since = Number.NEGATIVE_INFINITY;
  #mean = 0;
  #last = 0;
  #answers = 0;

  /**
   * True if that was so long that the request may have been sent twice, unless its connection is
   * known to be the same.
   */
  took(ms: number, now: number): boolean {
    if (now - this.#since >= SPAN_MS) {
      this.#before = this.#lately;
      this.#lately = Number.POSITIVE_INFINITY;
      this.#since = now;
    }
    const usual = this.#answers < ANSWERS_MIN ? 0 : this.#fastest;
    this.#mean += (ms - this.#mean) * (this.#answers === 0 ? 1 : NEW);
    this.#answers += 1;
    this.#lately = Math.min(this.#lately, ms);
    this.#last = ms;
    return ms > usual + RECONNECT_MS;
  }

  get #fastest(): number {
    return Math.min(this.#before, this.#lately);
  }

  /**
   * In ms. `usual` is enough without a load.
   * @param belief the next answer comes before it ends, see `beliefMs`
   */
  period(usual: number, belief: number = Number.POSITIVE_INFINITY): number {
    const delay = Math.min(this.#mean, this.#last) - this.#fastest;
    const longest = Math.min(FACTOR_MAX * usual, belief - this.#last - this.#mean);
    return Math.max(usual, Math.min(longest, DELAYS * delay));
  }

  /** In ms. */
  patience(usual: number): number {
    return Math.ceil(Math.max(PATIENCE_MS_MIN, SILENT_PERIODS * this.period(usual)));
  }
}
