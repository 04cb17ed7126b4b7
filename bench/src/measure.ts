/**
 * Measuring on a shared machine: the compared variants are measured alternately within the same
 * minute, and figures are compared only within one round.
 */

/** The distribution of a figure over all rounds. */
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

/** Runs `once` repeatedly for the given time; resolves to runs per second. */
export async function rate(seconds: number, once: () => Promise<void>): Promise<number> {
  return rateOf(seconds, 1, () => once);
}

/** The same with several concurrent loops; `make` creates the work of each loop. */
export async function rateOf(
  seconds: number,
  loops: number,
  make: (index: number) => () => Promise<void>,
): Promise<number> {
  const start = performance.now();
  const end = start + seconds * 1000;
  let count = 0;
  const loop = async (once: () => Promise<void>): Promise<void> => {
    while (performance.now() < end) {
      await once();
      count += 1;
    }
  };
  await Promise.all(Array.from({ length: loops }, (_, index) => loop(make(index))));
  return (count * 1000) / (performance.now() - start);
}

/**
 * Measures several variants alternately, each once per round. The order is reversed in every second
 * round, so that no variant is always first. An extra first round is the warm-up.
 */
export async function inTurns<K extends string>(
  rounds: number,
  variants: Readonly<Record<K, () => Promise<number>>>,
): Promise<Record<K, number[]>> {
  const names = Object.keys(variants) as K[];
  const figures = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<
    K,
    number[]
  >;
  for (let round = 0; round <= rounds; round++) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      const figure = await variants[name]();
      if (round > 0) figures[name].push(figure);
    }
  }
  return figures;
}

/** One list divided by another, round by round. */
export function ratios(above: readonly number[], below: readonly number[]): Spread {
  return spread(above.map((value, index) => value / (below[index] as number)));
}
