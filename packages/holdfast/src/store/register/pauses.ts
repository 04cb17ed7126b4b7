const PAUSE_MS = 2;
const URGENT_PAUSE_MS = 0.5;
/** A wait may end during a pause. */
const GROWN_MS = 50;

/**
 * Grows with the races lost in a row and the time that the last one took: otherwise the tries of
 * many processes spoil each other.
 */
export function pauseMsAfter(races: number, lastMs: number, urgent: boolean): number {
  const steps = Math.min(races, 8);
  if (urgent) return URGENT_PAUSE_MS * steps;
  return PAUSE_MS * steps + Math.min(GROWN_MS, (lastMs * (2 ** (races - 1) - 1)) / 2);
}

/** Of commands that let others pass. */
export function yieldMsAfter(times: number): number {
  return PAUSE_MS * Math.min(times * times, 50);
}
