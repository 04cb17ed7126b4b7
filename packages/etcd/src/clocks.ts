/**
 * The clock of the register: the median of the clocks of the endpoints, known by bounds.
 *
 * etcd tells no time, but each answer of HTTP has a `Date` with whole seconds. It was written
 * between the request and the answer, so it bounds the difference between the server's clock and
 * the monotonic clock of this process. The bounds of several answers intersect.
 *
 * Every process lists the same endpoints. The bounds of this process contain the median clock, also
 * while some endpoints are unknown: these may have any time. So the bounds of any two processes
 * have a point in common, and no process ends a lease in which another one still believes.
 *
 * The monotonic clock may stop while the machine is suspended, and the wall clock may be set. What
 * one of them did in addition to the other since a bound was measured widens that bound.
 */

/** The clocks of this process at one moment, in ms. */
export interface Moment {
  /** The monotonic clock. */
  readonly at: number;
  /** The wall clock. */
  readonly wall: number;
}

/** Both clocks. A process may lose the processor between two reads: then it reads again. */
export function momentOf(): Moment {
  let best: Moment = { at: 0, wall: 0 };
  let took = Infinity;
  for (let tries = 0; tries < 5 && took > 0.5; tries += 1) {
    const at = performance.now();
    const wall = Date.now();
    const ms = performance.now() - at;
    if (ms < took) best = { at, wall };
    took = Math.min(took, ms);
  }
  return best;
}

/** By how much a clock is ahead of the monotonic clock of this process, in ms. */
export interface Bounds {
  readonly lower: number;
  readonly upper: number;
}

/** How much faster or slower two clocks may run: Linux adjusts each by at most 0.05 %. */
const DRIFT = 0.001;
/** The clock of an endpoint without an answer for so long, in ms, may have been set since. */
const AGE_MAX = 120_000;
/** The part of a second that `Date` leaves out, in ms. */
const SECOND = 1000;

/** By how much an earlier bound may be wrong now, in ms. */
function doubt(then: Moment, now: Moment): number {
  const ran = Math.abs(now.at - then.at);
  return ran * DRIFT + Math.abs(now.wall - then.wall - (now.at - then.at));
}

/** One bound, and when it was measured. */
interface Measured {
  readonly bound: number;
  readonly moment: Moment;
}

/** The clock of one endpoint. Each bound is widened from the moment at which it was measured. */
export class EndpointClock {
  #lower: Measured | undefined;
  #upper: Measured | undefined;
  /** The last answer. */
  #seen = -Infinity;

  /**
   * An answer came. Returns false if the clock cannot have run evenly: it was set, or this process
   * was suspended.
   */
  saw(date: number, sent: Moment, got: Moment): boolean {
    const wrong = doubt(sent, got);
    const lower = { bound: date - got.at - wrong, moment: got };
    const upper = { bound: date + SECOND - sent.at + wrong, moment: got };
    const before = this.at(got);
    this.#seen = got.at;
    const agrees =
      before !== undefined && lower.bound <= before.upper && upper.bound >= before.lower;
    if (!agrees || lower.bound > before.lower) this.#lower = lower;
    if (!agrees || upper.bound < before.upper) this.#upper = upper;
    return agrees || before === undefined;
  }

  at(now: Moment): Bounds | undefined {
    const [lower, upper] = [this.#lower, this.#upper];
    if (lower === undefined || upper === undefined || now.at - this.#seen > AGE_MAX) {
      return undefined;
    }
    return {
      lower: lower.bound - doubt(lower.moment, now),
      upper: upper.bound + doubt(upper.moment, now),
    };
  }

  forget(): void {
    this.#lower = undefined;
  }
}

export class Clocks {
  readonly now: () => Moment;
  readonly #all: readonly EndpointClock[];

  /** @param all those of the endpoints, in their order */
  constructor(all: readonly EndpointClock[], now: () => Moment = momentOf) {
    this.now = now;
    this.#all = all;
  }

  /**
   * An answer of an endpoint came.
   * @param date the text of its header
   */
  saw(endpoint: number, date: string | null, sent: Moment, got: Moment = this.now()): void {
    const time = Date.parse(date ?? '');
    if (Number.isNaN(time) || this.#all[endpoint]?.saw(time, sent, got) !== false) return;
    // if the fault is that of this process, the bounds of the others are wrong too
    this.#all.forEach((one, at) => at !== endpoint && one.forget());
  }

  /** The clock of one endpoint; `undefined` if it is not known. */
  of(endpoint: number, at: Moment = this.now()): Bounds | undefined {
    return this.#all[endpoint]?.at(at);
  }

  /** The median; `undefined` if less than a majority is known. */
  median(at: Moment = this.now()): Bounds | undefined {
    const [only] = this.#all;
    if (only !== undefined && this.#all.length === 1) return only.at(at);
    const known = this.#all.map((one) => one.at(at));
    const middle = Math.floor((known.length - 1) / 2);
    const lower = known.map((one) => one?.lower ?? -Infinity).sort((a, b) => a - b)[middle];
    const upper = known.map((one) => one?.upper ?? Infinity).sort((a, b) => a - b)[middle];
    if (lower === undefined || upper === undefined) return undefined;
    return Number.isFinite(lower) && Number.isFinite(upper) ? { lower, upper } : undefined;
  }
}

/** The clocks of all endpoints, by the function that sends the requests, and by URL. */
const shared = new WeakMap<object, Map<string, EndpointClock>>();

/** The clock of an endpoint, which all registers of this process share. */
export function clockOf(fetch: object, endpoint: string): EndpointClock {
  const clocks = shared.get(fetch) ?? new Map<string, EndpointClock>();
  shared.set(fetch, clocks);
  const clock = clocks.get(endpoint) ?? new EndpointClock();
  clocks.set(endpoint, clock);
  return clock;
}

/** The width of bounds in ms. */
export function widthOf(bounds: Bounds | undefined): number {
  return bounds === undefined ? Infinity : bounds.upper - bounds.lower;
}
