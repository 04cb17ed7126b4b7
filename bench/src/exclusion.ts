/** The check of exclusion across processes, on intervals of a clock that they share. */

/** Counts acquisitions before an earlier holder released, in lists of from, until, from, … */
export function overlaps(lists: readonly (readonly number[])[]): number {
  const turns: [from: number, until: number][] = [];
  for (const list of lists) {
    for (let at = 0; at + 1 < list.length; at += 2) {
      turns.push([list[at] as number, list[at + 1] as number]);
    }
  }
  turns.sort(([a], [b]) => a - b);
  let last = -Infinity;
  let count = 0;
  for (const [from, until] of turns) {
    if (from < last) count += 1;
    last = Math.max(last, until);
  }
  return count;
}
