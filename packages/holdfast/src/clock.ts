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
  /**
   * Calls back when everything that has arrived by now (in sockets, or on its way inside this
   * process) was handed to the code that waits for it. Without it, two turns of the event loop are
   * taken.
   */
  afterIo?(callback: () => void): void;
}

/**
 * Calls back after one phase of input and output.
 *
 * After a stall of the event loop its timers run before its sockets are read. A deadline that
 * passed during the stall must not be judged before the answers were read that came in time.
 */
export function afterIo(clock: Clock, callback: () => void): void {
  if (clock.afterIo === undefined) twoTurns(callback);
  else clock.afterIo(callback);
}

/** Calls back when the immediates that are set by now have run. */
export function afterTurn(callback: () => void): void {
  setImmediate(callback);
}

/**
 * The first turn may be the rest of the present one, whose sockets were read before the stall: an
 * immediate that is set while sockets are read runs right after them. The second begins with a
 * whole phase of reading.
 */
function twoTurns(callback: () => void): void {
  setImmediate(() => setImmediate(callback));
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
  afterIo: twoTurns,
};
