/**
 * A clock that goes when it is told to. Timers run in the order of their times, and everything that
 * one of them sets off by promises has happened before the next one runs.
 */
import type { Clock, Timer } from '../../src/clock.js';

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

  /** After everything that is due by now: what would lie in a socket is due already. */
  afterIo(callback: () => void): void {
    this.after(0, callback, true);
  }

  /** Timers that are set; with `strong`, only those that keep a process alive. */
  timers(kind: 'all' | 'strong' = 'all'): number {
    return [...this.#pending].filter(({ weak }) => kind === 'all' || !weak).length;
  }

  /** Lets time pass, and everything happen that is due in it. */
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

  /** The event loop stands still: time passes, and nothing happens. */
  stall(ms: number): void {
    this.#now += ms;
  }

  /** The machine sleeps: only the wall clock goes on. */
  sleep(ms: number): void {
    this.#asleep += ms;
  }

  /** The earliest one; of several, the one that was set first. */
  #next(): Pending | undefined {
    let first: Pending | undefined;
    for (const one of this.#pending) if (first === undefined || one.at < first.at) first = one;
    return first;
  }
}

/** All promises that can settle by themselves have. */
export function settle(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
