/**
 * The local queue: the waiters of one key in this process, in order of arrival, and their poll
 * timer.
 *
 * Push makes hand-off fast, polling makes it certain (I5). The timer fires just after the current
 * lease ends if it is not renewed, and at least once per claim window, so that a grant to a frozen
 * process is noticed within one. Far from the head of the queue, the store allows a longer pause,
 * see `engine/idle.ts`.
 */
import type { Clock, Timer } from '../base/clock.js';
import type { Acquisition } from './acquisition.js';

/**
 * The pause before the next poll if the lock is free and nothing was granted: the store has more
 * waiters to serve than one command does.
 */
const SERVED_IN_PART_MS = 2;
/**
 * A timer fires about this much late, in ms, so a poll at the end of a lease is planned for so much
 * earlier. A poll that comes too early is answered with the rest of the time, and repeated then.
 */
const TIMER_LATE_MS = 0.5;
/** The shortest timer of Node. */
const TIMER_MS_MIN = 1;

export class LocalQueue {
  readonly key: string;
  /** How many acquisitions were added. */
  added = 0;
  readonly #acquisitions = new Set<Acquisition>();
  readonly #clock: Clock;
  readonly #poll: (line: LocalQueue) => void;
  #timer: Timer | undefined;
  #pollAt = Number.POSITIVE_INFINITY;
  /** True while the next poll follows after a pause that the store allowed. */
  #paused = false;

  constructor(key: string, clock: Clock, poll: (line: LocalQueue) => void) {
    this.key = key;
    this.#clock = clock;
    this.#poll = poll;
  }

  get size(): number {
    return this.#acquisitions.size;
  }

  acquisitions(): IterableIterator<Acquisition> {
    return this.#acquisitions.values();
  }

  /** True if all of them wait for a signal, and none for permits. */
  get asleep(): boolean {
    for (const acquisition of this.#acquisitions) if (!acquisition.asleep) return false;
    return true;
  }

  /** Returns false if it was present already. */
  add(acquisition: Acquisition): boolean {
    if (this.#acquisitions.has(acquisition)) return false;
    this.#acquisitions.add(acquisition);
    this.added += 1;
    return true;
  }

  /** Returns false if it was not present. */
  remove(acquisition: Acquisition): boolean {
    if (!this.#acquisitions.delete(acquisition)) return false;
    if (this.#acquisitions.size === 0) this.#disarm();
    return true;
  }

  /**
   * Plans the next poll.
   * @param next microseconds until the current lease may end, as the store just said; 0 if the lock
   * is free
   * @param period longest time until the next poll
   */
  plan(next: number, period: number): void {
    if (this.#acquisitions.size === 0) return;
    const due =
      next === 0 ? SERVED_IN_PART_MS : Math.max(TIMER_MS_MIN, next / 1000 - TIMER_LATE_MS);
    const ms = Math.min(due, period);
    const at = this.#clock.now() + ms;
    if (at >= this.#pollAt) return;
    this.#disarm();
    this.#pollAt = at;
    this.#timer = this.#clock.after(ms, () => this.#look());
  }

  #look(): void {
    this.#disarm();
    this.#poll(this);
  }

  /** Plans the next poll after a pause that the store allowed, in ms. */
  rest(pause: number): void {
    this.#disarm();
    this.plan(Number.POSITIVE_INFINITY, pause);
    this.#paused = true;
  }

  /** Polls now, if it pauses. */
  wakeUp(): void {
    if (this.#paused) this.#look();
  }

  #disarm(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#paused = false;
    this.#pollAt = Number.POSITIVE_INFINITY;
  }
}
