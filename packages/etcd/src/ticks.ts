/**
 * Makes the bounds of the clocks narrow. `Date` has whole seconds, so only an answer near the tick
 * of the server's clock tells much. The first call of a process asks every 25 ms until the second
 * changes; from then on, few requests that are aimed at the tick keep the bounds narrow.
 */
import { RegisterError } from 'holdfast/register';
import { type Clocks, type Moment, widthOf } from './clocks.js';

/** Calls wait until the clock is known this well, in ms. */
const READY_MS = 60;
/** Requests that wait for the tick come at these intervals, in ms. */
const STEP_MS = 25;
/** How long a call waits for ticks, in ms. */
const HUNT_MS = 3000;
/** Bounds of this width are narrow, in ms. */
const FINE_MS = 8;
/** Requests at the most that make the bounds narrow again. */
const AIMED = 5;
/** How often that is done while calls come, and while none come, in ms. */
const BUSY_MS = 3000;
const IDLE_MS = 30_000;
/** So long after the last call, in ms, no endpoint is asked any more. */
const UNUSED_MS = 600_000;
/** In ms. */
const SECOND = 1000;

export interface TickTerms {
  readonly clocks: Clocks;
  /** The number of endpoints. */
  readonly count: number;
  /** Asks an endpoint for its `Date`. Rejects if it does not answer. */
  readonly probe: (endpoint: number) => Promise<void>;
}

export class Ticks {
  readonly #terms: TickTerms;
  readonly #keepers = new Map<number, NodeJS.Timeout>();
  #hunt: Promise<void> | undefined;
  /** Until this moment, calls take the bounds as they are. */
  #content = -Infinity;
  /** Changes with `close`. */
  #opened = {};
  /** The next time at which bounds that are not narrow are made so. */
  #next = -Infinity;
  /** The last call. */
  #used = -Infinity;

  constructor(terms: TickTerms) {
    this.#terms = terms;
  }

  /** Resolves when the clock is known, or as well as it can be. Rejects if it is unknown. */
  ready(now: Moment = this.#terms.clocks.now()): Promise<void> | undefined {
    const { clocks } = this.#terms;
    this.#used = now.at;
    const width = widthOf(clocks.median(now));
    if (width <= READY_MS || (width < Infinity && now.at < this.#content)) {
      if (width > FINE_MS && now.at > this.#next) this.#keepAll();
      return undefined;
    }
    this.#hunt ??= this.#search().finally(() => (this.#hunt = undefined));
    return this.#hunt;
  }

  /** Asks no endpoint any more, until the next `ready`. */
  close(): void {
    this.#opened = {};
    for (const timer of this.#keepers.values()) clearTimeout(timer);
    this.#keepers.clear();
  }

  async #search(): Promise<void> {
    const { clocks, count } = this.#terms;
    const opened = this.#opened;
    const until = clocks.now().at + HUNT_MS;
    let failure: unknown = new RegisterError('unanswered', 'no answer has the header Date');
    const isOver = (): boolean => {
      const now = clocks.now();
      return now.at > until || widthOf(clocks.median(now)) <= READY_MS;
    };
    await Promise.any([
      ...Array.from({ length: count }, async (_, endpoint) => {
        failure = (await this.#narrow(endpoint, READY_MS, isOver)) ?? failure;
        // the other endpoints may make it known
        if (!isOver()) throw failure;
      }),
    ]).catch(() => undefined);
    const median = clocks.median();
    if (median === undefined) throw failure;
    this.#content = clocks.now().at + IDLE_MS;
    if (this.#opened === opened) this.#keepAll();
  }

  #keepAll(): void {
    const { clocks, count } = this.#terms;
    this.#next = clocks.now().at + BUSY_MS;
    for (let endpoint = 0; endpoint < count; endpoint += 1) this.#keep(endpoint, 0);
  }

  /**
   * Asks until the bounds of an endpoint are narrow, or it is over. Resolves to a failure that
   * ended it.
   */
  async #narrow(
    endpoint: number,
    goal: number,
    isOver: () => boolean,
    isWeak = false,
  ): Promise<unknown> {
    const { clocks, probe } = this.#terms;
    for (let first = true; !isOver(); first = false) {
      const width = widthOf(clocks.of(endpoint));
      if (width <= goal) return undefined;
      if (!first || width < SECOND) await sleep(this.#pause(endpoint), isWeak);
      if (isOver()) return undefined;
      try {
        await probe(endpoint);
      } catch (error) {
        return error;
      }
    }
    return undefined;
  }

  /** The time until an answer tells most, in ms. */
  #pause(endpoint: number): number {
    const { clocks } = this.#terms;
    const now = clocks.now();
    const bounds = clocks.of(endpoint, now);
    if (bounds === undefined) return STEP_MS;
    const { lower, upper } = bounds;
    const toTick = (ahead: number): number => SECOND - ((now.at + ahead) % SECOND);
    // half of the bounds is before the tick
    if (upper - lower <= 2 * STEP_MS) return toTick((lower + upper) / 2);
    const mayTick = Math.floor((now.at + upper) / SECOND) > Math.floor((now.at + lower) / SECOND);
    return mayTick ? STEP_MS : toTick(upper);
  }

  /** Makes the bounds narrow after a time, and again and again. Keeps no process alive. */
  #keep(endpoint: number, ms: number): void {
    clearTimeout(this.#keepers.get(endpoint));
    const opened = this.#opened;
    const { clocks } = this.#terms;
    const run = async (): Promise<void> => {
      if (clocks.now().at - this.#used > UNUSED_MS) return;
      let looks = 0;
      // two looks for each request
      const isOver = (): boolean => this.#opened !== opened || ++looks > 2 * AIMED;
      await this.#narrow(endpoint, FINE_MS, isOver, true);
      if (this.#opened === opened) this.#keep(endpoint, IDLE_MS);
    };
    this.#keepers.set(endpoint, setTimeout(() => void run(), ms).unref());
  }
}

/** @param isWeak true if it keeps no process alive */
function sleep(ms: number, isWeak: boolean): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    if (isWeak) timer.unref();
  });
}
