/**
 * A machine: a monotonic clock that runs slightly too fast or too slow and stops while the machine
 * is suspended, and a wall clock that runs at the same rate and is sometimes set.
 */

export class Machine {
  readonly name: string;
  /** No event runs on it before this time. */
  asleepUntil = 0;
  #since = 0;
  #base: number;
  #rate: number;
  #wallApart: number;

  /** @param rate milliseconds of its clocks per true millisecond */
  constructor(name: string, rate: number, uptime: number, wallApart: number) {
    this.name = name;
    this.#rate = rate;
    this.#base = uptime;
    this.#wallApart = wallApart;
  }

  /** The monotonic clock at a true time that is not before the last change. */
  mono(time: number): number {
    return this.#base + (time - this.#since) * this.#rate;
  }

  wall(time: number): number {
    return this.mono(time) + this.#wallApart;
  }

  /** The true time at which the monotonic clock will show a given time, if its rate stays. */
  timeOf(mono: number): number {
    return this.#since + (mono - this.#base) / this.#rate;
  }

  /** The same for the wall clock. */
  timeOfWall(wall: number): number {
    return this.timeOf(wall - this.#wallApart);
  }

  setRate(time: number, rate: number): void {
    this.#base = this.mono(time);
    this.#since = time;
    this.#rate = rate;
  }

  stepWall(ms: number): void {
    this.#wallApart += ms;
  }

  sleep(time: number, ms: number): void {
    const until = Math.max(this.asleepUntil, time) + ms;
    // the clock is frozen from here to there
    this.#base = this.mono(Math.max(time, this.#since));
    this.#since = until;
    this.#wallApart += ms * this.#rate;
    this.asleepUntil = until;
  }
}
