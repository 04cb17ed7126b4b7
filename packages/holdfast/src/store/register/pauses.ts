/** In ms. */
const PAUSE_MS = 2;
const URGENT_PAUSE_MS = 0.5;

/**
 * Grows with the races lost in a row and the time that the last one took: otherwise the tries of
 * many processes spoil each other.
 */
export function pauseMsAfter(races: number, lastMs: number, urgent: boolean): number {
  const steps = Math.min(races, 8);
  if (urgent) return URGENT_PAUSE_MS * steps;
  return PAUSE_MS * steps + (lastMs * (Math.min(2 ** (races - 1), 32) - 1)) / 2;
}

/** Of commands that have let others pass so many times. */
export function yieldMsAfter(times: number): number {
  return PAUSE_MS * Math.min(times * times, 50);
}
