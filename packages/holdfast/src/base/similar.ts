/**
 * One name begins with the other, or at most two changes of one character make them equal
 * (Levenshtein distance), without regard to case.
 */
export function similar(given: string, name: string): boolean {
  const a = given.toLowerCase();
  const b = name.toLowerCase();
  if (a.startsWith(b) || b.startsWith(a)) return true;
  // the distances between the first characters of `a` and each beginning of `b`
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 0; i < a.length; i++) {
    const next = [i + 1];
    for (let j = 1; j <= b.length; j++) {
      const swap = (row[j - 1] as number) + (a[i] === b[j - 1] ? 0 : 1);
      next.push(Math.min(swap, (row[j] as number) + 1, (next[j - 1] as number) + 1));
    }
    row = next;
  }
  return (row[b.length] as number) <= Math.min(2, b.length - 2);
}
