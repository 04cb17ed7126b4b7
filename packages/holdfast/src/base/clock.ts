/**
 * The only file that reads the clocks of the machine. All other code gets a `Clock`, so tests and
 * the simulator control time.
 *
 * It measures durations only: a client's wall clock is never sent to a server, nor compared with
 * another machine's.
 */
import { AsyncLocalStorage } from 'node:async_hooks';

/** Of a `Clock`. */
export interface Timer {
  cancel(): void;
}

/** The clock of one process. */
export interface Clock {
  /**
   * The monotonic clock in milliseconds, with fractions. Never set, never steps. It may stop while
   * the machine is suspended.
   */
  now(): number;
  /** The wall clock in milliseconds, only to detect a suspend. */
  wall(): number;
  /**
   * Calls back once after `ms`, maybe slightly early; read `now` for the exact time. A `weak` timer
   * does not keep the process alive.
   */
  after(ms: number, callback: () => void, weak?: boolean): Timer;
  /**
   * Calls back when all data that has arrived by now (in sockets, or on its way inside this
   * process) was handed to its readers. Default: after two turns of the event loop.
   */
  afterIo?(callback: () => void): void;
}

/**
 * After a stall of the event loop, timers run before sockets are read. So a deadline that passed
 * meanwhile is judged only after the answers that arrived in time are read.
 */
export function afterIo(clock: Clock, callback: () => void): void {
  if (clock.afterIo === undefined) twoTurns(callback);
  else clock.afterIo(callback);
}

/** Runs work outside of every caller's asynchronous context. */
export const outside: <R>(work: () => R) => R = AsyncLocalStorage.snapshot();

/** Taken once: a test's fake timers may replace it. */
const nextTick: (callback: () => void) => void = process.nextTick.bind(process);

/** Calls back after all promise jobs of this step, also those they begin. */
export function afterStep(callback: () => void): void {
  nextTick(callback);
}

/** Calls back after the immediates that are set by now. */
export function afterTurn(callback: () => void): void {
  setImmediate(callback);
}

/**
 * The first turn may be the rest of the current one, whose sockets were read before the stall. The
 * second begins with a full phase of reading.
 */
function twoTurns(callback: () => void): void {
  setImmediate(() => setImmediate(callback));
}

const LONGEST_MS = 2 ** 31 - 1;

function afterLong(ms: number, callback: () => void, weak: boolean): Timer {
  const next = (): void => {
    timer = systemClock.after(ms - LONGEST_MS, callback, weak);
  };
  let timer = systemClock.after(LONGEST_MS, next, weak);
  return { cancel: () => timer.cancel() };
}

export const systemClock: Clock = {
  now: () => performance.now(),
  wall: () => Date.now(),
  after(ms, callback, weak = false) {
    if (ms > LONGEST_MS) return afterLong(ms, callback, weak);
    const timer = setTimeout(() => outside(callback), Math.max(0, Math.ceil(ms)));
    if (weak) timer.unref();
    return { cancel: () => clearTimeout(timer) };
  },
  afterIo: twoTurns,
};
