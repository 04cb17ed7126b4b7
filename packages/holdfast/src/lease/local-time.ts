/**
 * What separates a time of the store from a time here (I7): a suspend of this machine, and the
 * different speeds of two clocks.
 *
 * The machine was suspended if its wall clock advanced while its monotonic clock stood still. A
 * time from before cannot be compared with the monotonic clock afterwards: a lease that an earlier
 * request granted or renewed may have ended. So a time that is kept is a `Moment`, and counts as
 * infinitely long ago after a suspend.
 *
 * A suspend of less than a second is not detected, because corrections of a wall clock are often
 * that large. A larger correction counts as a suspend, and costs a request.
 */
import type { Clock } from '../base/clock.js';

const SLEEP_MS = 1000;

/** Valid until the next suspend. */
export interface Moment {
  readonly at: number;
  readonly sleeps: number;
}

export class SuspendDetector {
  readonly #clock: Clock;
  readonly #jumped: ((ms: number) => void) | undefined;
  #apart: number;
  #count = 0;
  #suspended: ((at: number) => void) | undefined;

  /**
   * @param jumped called when the wall clock has moved by more than `SLEEP_MS` against the
   *   monotonic clock
   */
  constructor(clock: Clock, jumped?: (ms: number) => void) {
    this.#clock = clock;
    this.#jumped = jumped;
    this.#apart = clock.wall() - clock.now();
  }

  /** @param suspended called when a suspend is detected, before its moment is used */
  onSuspend(suspended: (at: number) => void): void {
    this.#suspended = suspended;
  }

  get count(): number {
    return this.moment().sleeps;
  }

  /** A step of the program reads it once: reading clocks costs time. */
  moment(): Moment {
    const at = this.#clock.now();
    const apart = this.#clock.wall() - at;
    const moved = apart - this.#apart;
    this.#apart = apart;
    if (moved > SLEEP_MS) {
      this.#count += 1;
      this.#suspended?.(at);
    }
    if (Math.abs(moved) > SLEEP_MS) this.#jumped?.(moved);
    return { at, sleeps: this.#count };
  }

  toLocal({ at, sleeps }: Moment, now: Moment = this.moment()): number {
    return sleeps === now.sleeps ? at : Number.NEGATIVE_INFINITY;
  }
}

export const DRIFT = 0.01;

/** The part of a lease that may pass unnoticed because two clocks differ in speed: 1 % and 2 ms. */
export function drift(lease: number): number {
  return lease * DRIFT + 2;
}

/** The shortest lease, in whole ms, of which at least `ms` remain after the drift margin. */
export function withDrift(ms: number): number {
  return Math.ceil((ms + 2) / 0.99) + 1;
}
