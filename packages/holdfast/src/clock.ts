/**
 * The only file that names a clock.
 *
 * Everything else gets a `Clock`, so that tests and the simulator can be its time. What is measured
 * here are durations: no wall clock of a client is ever sent to a server or compared with another
 * machine's.
 */

/** A timer that was set. */
export interface Timer {
  cancel(): void;
}

/** The time of one process. */
export interface Clock {
  /**
   * Milliseconds, with fractions, of a clock that is never set and never steps. It may stop while a
   * machine sleeps.
   */
  now(): number;
  /** Milliseconds of the wall clock: used only to notice that the machine slept. */
  wall(): number;
  /**
   * Calls back once, not before `ms` have passed by much; a caller to whom a millisecond matters
   * looks at `now`. A `weak` timer does not keep the process alive.
   */
  after(ms: number, callback: () => void, weak?: boolean): Timer;
}

/** Longest delay that Node's timers take. */
const LONGEST_MS = 2 ** 31 - 1;

/** A delay that is longer than one timer takes: several timers, one after another. */
function afterLong(ms: number, callback: () => void, weak: boolean): Timer {
  const next = (): void => {
    timer = systemClock.after(ms - LONGEST_MS, callback, weak);
  };
  let timer = systemClock.after(LONGEST_MS, next, weak);
  return { cancel: () => timer.cancel() };
}

/** The clock of this machine. */
export const systemClock: Clock = {
  now: () => performance.now(),
  wall: () => Date.now(),
  after(ms, callback, weak = false) {
    if (ms > LONGEST_MS) return afterLong(ms, callback, weak);
    const timer = setTimeout(callback, Math.max(0, Math.ceil(ms)));
    if (weak) timer.unref();
    return { cancel: () => clearTimeout(timer) };
  },
};
