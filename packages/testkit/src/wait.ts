/** Waiting for a state instead of a fixed time; percentiles of measurements. */
import { measuredPace, MOST } from './pace.js';

/** How long to wait for a state, and how often to check it. */
export interface Patience {
  /**
   * Milliseconds until the wait fails. Default 20,000: a busy machine starts a program late. The
   * time by which pauses between checks end late does not count: this process had no processor. If
   * the machine is busy when they have passed, other processes get more time too. At most, a wait
   * lasts six times as long.
   */
  within?: number;
  /** Milliseconds between two checks. Default 5. */
  every?: number;
  /** A description of the state, for the error. Default: the source of the predicate. */
  what?: string;
}

/**
 * Resolves after `ms`. For polling and for faults that need a fixed time; a test waits with
 * `until`.
 */
export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/**
 * Blocks the event loop for `ms`, as long synchronous work does, but leaves the processor to other
 * processes.
 */
export function stall(ms: number): void {
  const end = performance.now() + ms;
  for (let left = ms; left > 0; left = end - performance.now()) Atomics.wait(UNCHANGED, 0, 0, left);
}

/** Memory that is never written: a wait for a change ends at its time limit. */
const UNCHANGED = new Int32Array(new SharedArrayBuffer(4));

/** A timer is this late on an idle machine, at most. */
const TIMER_MS = 1;

/**
 * Waits until `predicate` returns a truthy value, and resolves to that value. A predicate that
 * throws counts as "not yet", and its last error is part of the failure message, so a test can wait
 * for an assertion.
 */
export async function until<T>(
  predicate: () => T | Promise<T>,
  { within = 20_000, every = 5, what = String(predicate) }: Patience = {},
): Promise<Exclude<T, false | 0 | '' | null | undefined>> {
  const start = performance.now();
  let last: unknown;
  let late = 0;
  let pace = 0;
  for (let checks = 1; ; checks++) {
    try {
      const value = await predicate();
      if (value) return value as Exclude<T, false | 0 | '' | null | undefined>;
      last = value;
    } catch (error) {
      last = error;
    }
    const paused = performance.now();
    const isOver = paused - start >= within + Math.min(late, (MOST - 1) * within);
    if (isOver && pace === 0) pace = measuredPace();
    if (isOver && paused - start >= pace * within) {
      const seen = last instanceof Error ? `threw: ${last.message}` : `returned: ${show(last)}`;
      const how = `${checks} checks, ${Math.round(late)} ms late, pace ${pace.toFixed(1)}`;
      const message = `not within ${within} ms (${how}): ${what}\nthe last check ${seen}`;
      throw new Error(message, { cause: last });
    }
    await sleep(every);
    late += Math.max(0, performance.now() - paused - every - TIMER_MS);
  }
}

/**
 * The `p`th percentile (0 to 100) of the numbers, by nearest rank. NaN for an empty list.
 */
export function percentile(numbers: readonly number[], p: number): number {
  const sorted = Float64Array.from(numbers).sort();
  const rank = Math.ceil((p / 100) * sorted.length);
  return sorted[Math.min(Math.max(rank, 1), sorted.length) - 1] ?? Number.NaN;
}

function show(value: unknown): string {
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return String(value);
  }
}
