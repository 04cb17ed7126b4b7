/**
 * Noticing that the machine slept: its wall clock went on while the monotonic clock stood still.
 *
 * What was known before a sleep cannot be told on the monotonic clock afterwards (I7): a lease that
 * was granted or renewed by a request from before may have ended meanwhile. So a moment that is
 * kept to count from is a `Moment`, and lies infinitely long ago once the machine has slept.
 *
 * A sleep of less than a second is not noticed, as a wall clock is set by so much now and then; one
 * that is set forward by more is taken for sleep, and costs a question to the store.
 */
import type { Clock } from '../clock.js';

/** How far the two clocks may part before it is taken for sleep. */
const SLEEP_MS = 1000;

/** A point in time that can be counted from while the machine stays awake. */
export interface Moment {
  readonly at: number;
  readonly sleeps: number;
}

export class Sleep {
  readonly #clock: Clock;
  #apart: number;
  #count = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#apart = clock.wall() - clock.now();
  }

  /** How often the machine has slept, as its clocks show now. */
  get count(): number {
    const apart = this.#clock.wall() - this.#clock.now();
    if (apart - this.#apart > SLEEP_MS) this.#count += 1;
    this.#apart = apart;
    return this.#count;
  }

  /** The present moment. */
  moment(): Moment {
    return { at: this.#clock.now(), sleeps: this.count };
  }

  /** When a moment was on the monotonic clock: infinitely long ago if the machine slept since. */
  told({ at, sleeps }: Moment): number {
    return sleeps === this.count ? at : Number.NEGATIVE_INFINITY;
  }
}
