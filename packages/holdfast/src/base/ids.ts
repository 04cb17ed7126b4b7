/**
 * Unique ids: a part for the process, and a counter; no spaces.
 *
 * Copies of a process must not share ids. The process part is drawn at first use, and again in each
 * process that starts from a snapshot of Node. A machine that is cloned or restored from a memory
 * image shows it only by a jump of its clocks; its ids then get a new prefix before the counter.
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
  #beginning = '';

  constructor(randomSource: RandomSource = systemRandomSource, clock: Clock = systemClock) {
    this.#randomSource = randomSource;
    this.#clock = clock;
    inEachCopy(() => {
      this.#process = undefined;
    });
  }

  get process(): string {
    this.#process ??= this.#randomSource.id();
    return this.#process;
  }

  /** @param sleeps suspends and clock jumps that were detected */
  next(sleeps = 0): string {
    if (sleeps !== this.#sleeps) {
      this.#sleeps = sleeps;
      this.#beginAnew();
    }
    this.#count += 1;
    return `${this.#process ?? this.process}.${this.#beginning}${this.#count.toString(36)}`;
  }

  /** Two copies of a machine may draw one random value, but not at the same microsecond. */
  #beginAnew(): void {
    const { wall, now } = { wall: this.#clock.wall(), now: this.#clock.now() };
    const numbers = [wall, (now % 1e6) * 1e3, this.#randomSource.fraction() * 36 ** 6];
    this.#beginning = numbers.map((one) => Math.trunc(one).toString(36)).join('');
  }
}
