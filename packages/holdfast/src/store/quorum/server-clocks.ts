/**
 * The clock of a quorum: the median of the clocks of all its servers, known by bounds ([decision
 * 13](../../../../../docs/decisions/0013-quorum.md)). An answer bounds a server's clock by its
 * request and its arrival; the clock of a silent server may be anything. A wrong clock counts as a
 * failed server: with n servers dead, the bounds are as far apart as the clocks.
 */
import type { Micros } from '../../engine/commands.js';

/** How much faster or slower than another one a clock runs. */
const DRIFT = 0.01;
/** Older readings are not used. */
const KEEP_MS = 60_000;
/** A bound that falls by more, in µs, was moved by a clock. */
const STEP: Micros = 1_000_000;

interface Reading {
  readonly time: Micros;
  readonly sent: number;
  readonly received: number;
}

interface Causes {
  /** In µs. */
  readonly apart: Micros;
  /** In ms. */
  readonly slowest: number;
}

/** Why the bounds are `spread` ms apart: too far for a lease of `ttl` ms. */
export function clockTrouble(spread: number, { apart, slowest }: Causes, ttl: number): string {
  const ms = Math.round(spread);
  if (apart / 1000 > spread / 2) {
    return (
      `the clocks of the servers differ by ${ms} ms, and too few servers answer ` +
      'to tell which are right; a wrong clock counts as a failed server'
    );
  }
  return (
    `answers of the servers took up to ${Math.round(slowest)} ms, so their clocks are known to ` +
    `within ${ms} ms only, which is too little for a lease of ${ttl} ms; use a longer ttl, or ` +
    'look for slow servers and a busy process'
  );
}

export class ServerClocks {
  readonly #readings: (Reading | undefined)[];
  readonly #middle: number;
  /** The last result of `earliest`. */
  #told: Micros = 0;

  constructor(servers: number) {
    this.#readings = Array.from({ length: servers }, () => undefined);
    this.#middle = Math.floor(servers / 2);
  }

  note(server: number, time: Micros, sent: number, received: number): void {
    this.#readings[server] = { time, sent, received };
  }

  /**
   * A lower bound of the median at the local time `at`, not in the past. It does not fall, unless
   * clocks were set back: a lease that was over for one command must be over for the next, and slow
   * answers tell less.
   */
  earliest(at: number): Micros {
    const bound = this.#median(at, Number.NEGATIVE_INFINITY, ({ time, received }) => {
      return time + (at - received) * 1000 * (1 - DRIFT);
    });
    const isSlow = bound < this.#told && bound > this.#told - STEP;
    if (!isSlow) this.#told = Math.max(0, Math.floor(bound));
    return this.#told;
  }

  /** An upper bound of the median at the local time `at`; `Infinity` if unknown. */
  latest(at: number): Micros {
    return Math.ceil(
      this.#median(at, Number.POSITIVE_INFINITY, ({ time, sent }) => {
        return time + Math.max(0, at - sent) * 1000 * (1 + DRIFT);
      }),
    );
  }

  /** The distance of the bounds, in µs. */
  spread(at: number): Micros {
    return Math.max(0, this.latest(at) - this.earliest(at));
  }

  /**
   * The part of the distance, in µs, that the clocks make, and the longest answer, in ms. Without
   * two servers' clocks that differ for certain, the answers make at least half of the distance.
   */
  causes(at: number): Causes {
    const middle = ({ time, sent, received }: Reading): Micros =>
      time + (at - (sent + received) / 2) * 1000;
    const latest = this.#median(at, Number.POSITIVE_INFINITY, middle);
    const earliest = this.#median(at, Number.NEGATIVE_INFINITY, middle);
    const took = this.#readings.flatMap((one) => (one ? [one.received - one.sent] : []));
    return { apart: latest - earliest, slowest: Math.max(0, ...took) };
  }

  /** At least how far a clock is ahead of the median, in ms; silent servers count as they were. */
  offset(server: number, at: number): number | undefined {
    const reading = this.#readings[server];
    if (reading === undefined || at - reading.received > KEEP_MS) return undefined;
    const shown = (one: Reading): Micros => one.time + (at - one.received) * 1000;
    const all = this.#readings.filter((one) => one !== undefined).map((one) => shown(one));
    const median = all.sort((a, b) => a - b)[Math.floor((all.length - 1) / 2)] as Micros;
    const early = shown(reading) - median;
    const late = early + (reading.received - reading.sent) * 1000;
    return Math.round((early > 0 ? early : Math.min(0, late)) / 1000);
  }

  #median(at: number, unknown: number, bound: (reading: Reading) => number): number {
    const bounds = this.#readings.map((reading) =>
      reading === undefined || at - reading.received > KEEP_MS ? unknown : bound(reading),
    );
    return bounds.sort((a, b) => a - b)[this.#middle] as number;
  }
}
