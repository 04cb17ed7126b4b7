/** The figures of several rounds as a median with its extremes. */

export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

export function spread(values: readonly number[]): Spread {
  const sorted = Float64Array.from(values).sort();
  const half = sorted.length >> 1;
  const upper = sorted[half] ?? Number.NaN;
  const median = sorted.length % 2 === 1 ? upper : (upper + (sorted[half - 1] ?? Number.NaN)) / 2;
  return { median, min: sorted[0] ?? Number.NaN, max: sorted.at(-1) ?? Number.NaN };
}

/** One list divided by another, round by round. */
export function ratios(above: readonly number[], below: readonly number[]): number[] {
  return above.map((value, index) => value / (below[index] ?? Number.NaN));
}
