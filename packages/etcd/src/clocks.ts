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

export const momentOf = (): Moment => ({ at: performance.now(), wall: Date.now() });

/** By how much a clock is ahead of the monotonic clock of this process, in ms. */
export interface Bounds {
  readonly lower: number;
  readonly upper: number;
}

/** How much faster or slower two clocks may run: Linux adjusts each by at most 0.05 %. */
const DRIFT = 0.001;
/** Bounds that are older, in ms, are not used: the clock may have been set since. */
const AGE_MAX = 120_000;
/** The part of a second that `Date` leaves out, in ms. */
const SECOND = 1000;

/** By how much an earlier bound may be wrong now, in ms. */
function doubt(then: Moment, now: Moment): number {
  const ran = Math.abs(now.at - then.at);
  return ran * DRIFT + Math.abs(now.wall - then.wall - (now.at - then.at));
}

const widened = ({ lower, upper }: Bounds, by: number): Bounds => {
  return { lower: lower - by, upper: upper + by };
};

/** The clock of one endpoint. */
export class EndpointClock {
  #bounds: Bounds | undefined;
  #measured: Moment | undefined;

  /**
   * An answer came. Returns false if the clock cannot have run evenly: it was set, or this process
   * was suspended.
   */
  saw(date: number, sent: Moment, got: Moment): boolean {
    const raw = { lower: date - got.at, upper: date + SECOND - sent.at };
    const fresh = widened(raw, doubt(sent, got));
    const before = this.at(got);
    const lower = Math.max(before?.lower ?? -Infinity, fresh.lower);
    const upper = Math.min(before?.upper ?? Infinity, fresh.upper);
    const agrees = lower <= upper;
    this.#bounds = agrees ? { lower, upper } : fresh;
    this.#measured = got;
    return agrees;
  }

  at(now: Moment): Bounds | undefined {
    if (this.#bounds === undefined || this.#measured === undefined) return undefined;
    if (now.at - this.#measured.at > AGE_MAX) return undefined;
    return widened(this.#bounds, doubt(this.#measured, now));
  }

  forget(): void {
    this.#bounds = undefined;
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
    const known = this.#all.map((one) => one.at(at));
    const middle = Math.floor((known.length - 1) / 2);
    const lower = known.map((one) => one?.lower ?? -Infinity).sort((a, b) => a - b)[middle];
    const upper = known.map((one) => one?.upper ?? Infinity).sort((a, b) => a - b)[middle];
    if (lower === undefined || upper === undefined) return undefined;
    return Number.isFinite(lower) && Number.isFinite(upper) ? { lower, upper } : undefined;
  }
}

/** The clocks of all endpoints of this process, by what sends the requests and by their URLs. */
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
