/**
 * The independent check of exclusion. Each process records the intervals in which it held a key, on
 * the monotonic clock that all processes of a machine share. The intervals are merged at the end;
 * those of one key must not overlap. The lock and its server have no part in the check.
 */

/** The interval in which a process held a key. */
export interface Interval {
  readonly key: string;
  /** The name of the holder, for the report. */
  readonly who: string;
  /** The start, by `monotonic`. */
  readonly from: number;
  readonly to: number;
  readonly fence: number;
}

export interface Pair {
  readonly first: Interval;
  readonly second: Interval;
}

/** Milliseconds of the clock that all processes of this machine share. */
export function monotonic(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** Pairs in which the second interval began before an earlier one of its key had ended. */
export function overlaps(intervals: readonly Interval[]): Pair[] {
  return compare(
    intervals,
    (earlier, later) => later.from < earlier.to,
    (a, b) => a.to > b.to,
  );
}

/** Pairs in which the second interval's fence is not above the fence of an earlier one. */
export function regressions(intervals: readonly Interval[]): Pair[] {
  return compare(
    intervals,
    (earlier, later) => later.fence <= earlier.fence,
    (a, b) => a.fence > b.fence,
  );
}

/** A description for a report. */
export function describe({ first, second }: Pair): string {
  const since = (time: number): string => (time - first.from).toFixed(3);
  const words = ({ who, from, to, fence }: Interval): string =>
    `${who} (fence ${fence}, ${since(from)} to ${since(to)} ms)`;
  return `key ${first.key}: ${words(first)}, and ${words(second)}`;
}

/** Pairs each interval with the outermost one of its key that began before it. */
function compare(
  intervals: readonly Interval[],
  collide: (earlier: Interval, later: Interval) => boolean,
  further: (a: Interval, b: Interval) => boolean,
): Pair[] {
  const found: Pair[] = [];
  const outermost = new Map<string, Interval>();
  for (const second of [...intervals].sort((a, b) => a.from - b.from)) {
    const first = outermost.get(second.key);
    if (first !== undefined && collide(first, second)) found.push({ first, second });
    if (first === undefined || further(second, first)) outermost.set(second.key, second);
  }
  return found;
}
