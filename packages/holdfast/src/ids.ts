/**
 * Ids that are never given twice: a part for the process, and a count. No space occurs in them.
 *
 * Copies of a process must not share ids. The part of the process is drawn when it is first needed,
 * and again by each process that starts from a snapshot of Node. A machine that is cloned, or
 * restored from a copy of its memory, shows that only as a jump of its clocks: the count goes on
 * behind a new beginning then.
 */
import { type RandomSource, systemRandomSource } from './random-source.js';
import { type Clock, systemClock } from './clock.js';
import { inEachCopy } from './snapshot.js';

export class Ids {
  readonly #randomSource: RandomSource;
  readonly #clock: Clock;
  #process: string | undefined;
  #count = 0;
  #sleeps = 0;
  /** What the count begins with since the clocks jumped. */
  #beginning = '';

  constructor(randomSource: RandomSource = systemRandomSource, clock: Clock = systemClock) {
    this.#randomSource = randomSource;
    this.#clock = clock;
    inEachCopy(() => {
      this.#process = undefined;
    });
  }

  /** What all ids of this source begin with. */
  get process(): string {
    this.#process ??= this.#randomSource.id();
    return this.#process;
  }

  /** @param sleeps how often the machine has slept, or its clocks have jumped */
  next(sleeps = 0): string {
    if (sleeps !== this.#sleeps) {
      this.#sleeps = sleeps;
      this.#beginAnew();
    }
    this.#count += 1;
    return `${this.process}.${this.#beginning}${this.#count.toString(36)}`;
  }

  /** Copies of a machine may draw the same at random, but not at the same microsecond. */
  #beginAnew(): void {
    const { wall, now } = { wall: this.#clock.wall(), now: this.#clock.now() };
    const numbers = [wall, (now % 1e6) * 1e3, this.#randomSource.fraction() * 36 ** 6];
    this.#beginning = numbers.map((one) => Math.trunc(one).toString(36)).join('');
  }
}
