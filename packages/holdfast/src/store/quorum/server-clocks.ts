/**
 * The clock of a quorum: the median of the clocks of all its servers. A minority of wrong clocks
 * changes nothing while the others answer. With n servers dead and one wrong clock, no process can
 * tell which one is right, and the bounds of the median are as far apart as the clocks: so a wrong
 * clock counts as a failed server.
 *
 * A clock is known only from an answer: it was read after the request was sent and before the
 * answer came. That gives bounds of each clock, and of the median. The clock of a server that did
 * not answer for some time may be anything.
 */
import type { Micros } from '../../engine/commands.js';

/** By how much a clock is faster or slower than another one. */
const DRIFT = 0.01;
/** Older readings, in ms, are not used. */
const KEEP_MS = 60_000;
/** A bound that is earlier than the one before by more than this was moved by a clock, in µs. */
const STEP: Micros = 1_000_000;

interface Reading {
  readonly time: Micros;
  readonly sent: number;
  readonly received: number;
}

export class ServerClocks {
  readonly #readings: (Reading | undefined)[];
  readonly #middle: number;
  /** The bound that `earliest` told last. */
  #told: Micros = 0;

  constructor(servers: number) {
    this.#readings = Array.from({ length: servers }, () => undefined);
    this.#middle = Math.floor(servers / 2);
  }

  note(server: number, time: Micros, sent: number, received: number): void {
    this.#readings[server] = { time, sent, received };
  }

  /**
   * The median is not before this at the local time `at`, which is not in the past. Later bounds
   * are not earlier, unless clocks were set back: a slow answer tells less than the one before it,
   * and a lease that was over for one command must be over for the next.
   */
  earliest(at: number): Micros {
    const bound = this.#median(at, Number.NEGATIVE_INFINITY, ({ time, received }) => {
      return time + (at - received) * 1000 * (1 - DRIFT);
    });
    const isSlow = bound < this.#told && bound > this.#told - STEP;
    if (!isSlow) this.#told = Math.max(0, Math.floor(bound));
    return this.#told;
  }

  /** The median was not after this at the local time `at`; `Infinity` if unknown. */
  latest(at: number): Micros {
    return Math.ceil(
      this.#median(at, Number.POSITIVE_INFINITY, ({ time, sent }) => {
        return time + Math.max(0, at - sent) * 1000 * (1 + DRIFT);
      }),
    );
  }

  /** How far the bounds of the median are apart, in µs. */
  spread(at: number): Micros {
    return Math.max(0, this.latest(at) - this.earliest(at));
  }

  /**
   * By how many ms a clock is ahead of the median; `undefined` if unknown. The clocks of silent
   * servers count as they were when they answered.
   */
  offset(server: number, at: number): number | undefined {
    const reading = this.#readings[server];
    if (reading === undefined || at - reading.received > KEEP_MS) return undefined;
    const shown = (one: Reading): Micros => one.time + (at - one.received) * 1000;
    const all = this.#readings.filter((one) => one !== undefined).map((one) => shown(one));
    const median = all.sort((a, b) => a - b)[Math.floor((all.length - 1) / 2)] as Micros;
    return Math.round((shown(reading) - median) / 1000);
  }

  #median(at: number, unknown: number, bound: (reading: Reading) => number): number {
    const bounds = this.#readings.map((reading) =>
      reading === undefined || at - reading.received > KEEP_MS ? unknown : bound(reading),
    );
    return bounds.sort((a, b) => a - b)[this.#middle] as number;
  }
}
