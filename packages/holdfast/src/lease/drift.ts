/** The margin for two clocks of different speed (I7). */

/** The most by which the speeds of two clocks differ. */
export const DRIFT = 0.01;

/** The part of a lease that may pass unnoticed because two clocks differ in speed: 1 % and 2 ms. */
export function drift(lease: number): number {
  return lease * DRIFT + 2;
}

/** The shortest lease, in whole ms, of which at least `ms` remain after the drift margin. */
export function withDrift(ms: number): number {
  return Math.ceil((ms + 2) / 0.99) + 1;
}
