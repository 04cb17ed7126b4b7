/**
 * Measuring on a machine that others use too: what is compared is measured in turns, in the same
 * minute, and the figures of a round are compared with each other only.
 */

/** A figure of all rounds. */
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

/** Runs `once` in a row until the time is over; answers times per second. */
export async function rate(seconds: number, once: () => Promise<void>): Promise<number> {
  return rateOf(seconds, 1, () => once);
}

/** The same with several loops at once; `make` gives each its own work. */
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
 * Measures several things in turns, each once a round, in an order that is turned round from round
 * to round so that none is always first. A round before the first one warms everything up.
 */
export async function inTurns<K extends string>(
  rounds: number,
  things: Readonly<Record<K, () => Promise<number>>>,
): Promise<Record<K, number[]>> {
  const names = Object.keys(things) as K[];
  const figures = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<
    K,
    number[]
  >;
  for (let round = 0; round <= rounds; round++) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      const figure = await things[name]();
      if (round > 0) figures[name].push(figure);
    }
  }
  return figures;
}

/** One list divided by another, round by round. */
export function ratios(above: readonly number[], below: readonly number[]): Spread {
  return spread(above.map((value, index) => value / (below[index] as number)));
}
