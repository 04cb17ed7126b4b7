/**
 * The independent check of exclusion by weight: at no moment may those who believed to hold a key
 * have believed in more of it than there is; and of two that could not have been inside together,
 * the later one has the greater fence. Those that share may be heard of in another order than they
 * were granted in.
 */
import type { Interval, Pair } from './overlaps.js';

/** From when to when somebody believed to hold how much. */
export interface Weighed extends Interval {
  readonly weight: number;
  readonly capacity: number;
}

/** Each interval that began while too much was believed to be held, with the heaviest one there. */
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

/** Each interval whose fence is not above those of all earlier ones that it had to wait for. */
export function outOfOrder(intervals: readonly Weighed[]): Pair[] {
  const found: Pair[] = [];
  /** Of each key, by weight: who had the greatest fence so far. */
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
