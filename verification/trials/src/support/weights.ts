/**
 * The independent check of exclusion by weight. At any time, the total weight of the holders of a
 * key must not exceed its capacity. Of two intervals that exclude each other, the later one must
 * have the higher fence. Holders that share may see their grants in a different order.
 */
import type { Interval, Pair } from './overlaps.js';

/** An interval with the held weight. */
export interface Weighed extends Interval {
  readonly weight: number;
  readonly capacity: number;
}

/** Each interval that exceeds the capacity, paired with the heaviest concurrent one. */
export function excesses(intervals: readonly Weighed[]): Pair[] {
  const found: Pair[] = [];
  const inside = new Map<string, Weighed[]>();
  for (const second of inOrder(intervals)) {
    const others = (inside.get(second.key) ?? []).filter(({ to }) => to > second.from);
    inside.set(second.key, [...others, second]);
    const held = others.reduce((sum, { weight }) => sum + weight, second.weight);
    const [first] = others.sort((a, b) => b.weight - a.weight);
    if (first !== undefined && held > second.capacity) found.push({ first, second });
  }
  return found;
}

/** Each interval with a fence that is not above those of all earlier intervals that exclude it. */
export function outOfOrder(intervals: readonly Weighed[]): Pair[] {
  const found: Pair[] = [];
  /** For each key and weight: the interval with the highest fence so far. */
  const greatest = new Map<string, Map<number, Weighed>>();
  for (const second of inOrder(intervals)) {
    const own = greatest.get(second.key) ?? new Map<number, Weighed>();
    greatest.set(second.key, own);
    for (const first of own.values()) {
      const apart = first.weight + second.weight > second.capacity;
      if (apart && second.fence <= first.fence) found.push({ first, second });
    }
    if (second.fence > (own.get(second.weight)?.fence ?? 0)) own.set(second.weight, second);
  }
  return found;
}

function inOrder(intervals: readonly Weighed[]): Weighed[] {
  return [...intervals].sort((a, b) => a.from - b.from);
}
