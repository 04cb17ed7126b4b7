/** The clock of this machine; it counts pending timers. */
import type { Clock, Timer } from 'holdfast';

export class CountingClock implements Clock {
  /** Timers that have neither fired nor been cancelled, including weak ones. */
  readonly pending: Set<object> = new Set();

  now(): number {
    return performance.now();
  }

  wall(): number {
    return Date.now();
  }

  after(ms: number, callback: () => void, weak = false): Timer {
    const timer = setTimeout(
      () => {
        this.pending.delete(timer);
        callback();
      },
      Math.max(0, Math.ceil(ms)),
    );
    if (weak) timer.unref();
    this.pending.add(timer);
    return {
      cancel: () => {
        this.pending.delete(timer);
        clearTimeout(timer);
      },
    };
  }
}
