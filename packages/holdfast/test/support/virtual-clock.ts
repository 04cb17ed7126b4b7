/**
 * A virtual clock. Timers run in the order of their times. All promise callbacks of one timer run
 * before the next timer.
 */
import type { Clock, Timer } from '../../src/base/clock.js';

interface Pending {
  readonly at: number;
  readonly callback: () => void;
  readonly weak: boolean;
}

export class VirtualClock implements Clock {
  #now = 1000;
  #asleep = 0;
  readonly #pending = new Set<Pending>();

  now(): number {
    return this.#now;
  }

  wall(): number {
    return 1_700_000_000_000 + this.#now + this.#asleep;
  }

  after(ms: number, callback: () => void, weak = false): Timer {
    const pending = { at: this.#now + Math.max(0, ms), callback, weak };
    this.#pending.add(pending);
    return { cancel: () => void this.#pending.delete(pending) };
  }

  /** Runs after all timers that are due now, as data in a socket would. */
  afterIo(callback: () => void): void {
    this.after(0, callback, true);
  }

  /** The number of timers; with `strong`, only timers that keep the process alive. */
  timers(kind: 'all' | 'strong' = 'all'): number {
    return [...this.#pending].filter(({ weak }) => kind === 'all' || !weak).length;
  }

  /** When the next timer runs; `Infinity` without timers. */
  get nextAt(): number {
    return this.#next()?.at ?? Number.POSITIVE_INFINITY;
  }

  /** Advances the time and runs all timers that become due. */
  async advance(ms: number): Promise<void> {
    const until = this.#now + ms;
    await settle();
    for (;;) {
      const next = this.#next();
      if (next === undefined || next.at > until) break;
      this.#pending.delete(next);
      this.#now = Math.max(this.#now, next.at);
      next.callback();
      await settle();
    }
    this.#now = Math.max(this.#now, until);
  }

  /** Advances the time, 1 ms at a time, until a promise settles. */
  async until<T>(promise: Promise<T>): Promise<T> {
    let settled = false;
    const end = (): void => void (settled = true);
    promise.then(end, end);
    while (!settled) await this.advance(1);
    return promise;
  }

  /** The event loop blocks: time advances, and no timer runs. */
  stall(ms: number): void {
    this.#now += ms;
  }

  /** The machine is suspended: only the wall clock advances. */
  sleep(ms: number): void {
    this.#asleep += ms;
  }

  /** The earliest timer; of several, the one that was set first. */
  #next(): Pending | undefined {
    let first: Pending | undefined;
    for (const one of this.#pending) if (first === undefined || one.at < first.at) first = one;
    return first;
  }
}

/** Resolves when all pending promise callbacks have run. */
export function settle(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
