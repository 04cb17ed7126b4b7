/**
 * Redis' glob patterns, to the letter: `*`, `?`, `[abc]`, `[^a]`, `[a-z]`, a backslash before what
 * is meant literally, and what Redis makes of patterns that are not well formed. Like there, it is
 * bytes of UTF-8 that are compared.
 */

/** True if a text matches a pattern. */
export function matches(pattern: string, text: string): boolean {
  return match(bytesOf(pattern), 0, bytesOf(text), 0) === 'yes';
}

/** One character for each byte. */
function bytesOf(text: string): string {
  return Buffer.from(text).toString('latin1');
}

/** `never`: no longer match of an earlier `*` can help either. */
type Verdict = 'yes' | 'no' | 'never';

function match(pattern: string, fromPattern: number, text: string, fromText: number): Verdict {
  let p = fromPattern;
  let t = fromText;
  while (p < pattern.length && t < text.length) {
    const wild = pattern[p];
    if (wild === '*') return matchRest(pattern, p, text, t);
    if (wild === '[') {
      const set = readSet(pattern, p, text[t] as string);
      if (!set.holds) return 'no';
      p = set.end;
    } else {
      if (wild === '\\' && p + 1 < pattern.length) p += 1;
      if (wild !== '?' && pattern[p] !== text[t]) return 'no';
      p += 1;
    }
    t += 1;
  }
  if (t === text.length) while (pattern[p] === '*') p += 1;
  return p >= pattern.length && t === text.length ? 'yes' : 'no';
}

function matchRest(pattern: string, star: number, text: string, from: number): Verdict {
  let next = star;
  while (pattern[next] === '*') next += 1;
  if (next === pattern.length) return 'yes';
  for (let t = from; t < text.length; t++) {
    const verdict = match(pattern, next, text, t);
    if (verdict !== 'no') return verdict;
  }
  return 'never';
}

/** Whether a character is in the set that begins at `[`, and where the pattern goes on. */
function readSet(pattern: string, open: number, one: string): { holds: boolean; end: number } {
  let p = open + 1;
  const not = pattern[p] === '^';
  if (not) p += 1;
  let found = false;
  for (; p < pattern.length && pattern[p] !== ']'; p++) {
    const left = pattern.length - p;
    if (left >= 2 && pattern[p] === '\\') {
      p += 1;
      found ||= pattern[p] === one;
    } else if (left >= 3 && pattern[p + 1] === '-') {
      const [low, high] = [pattern[p] as string, pattern[p + 2] as string].sort() as [
        string,
        string,
      ];
      found ||= low <= one && one <= high;
      p += 2;
    } else {
      found ||= pattern[p] === one;
    }
  }
  return { holds: found !== not, end: p + 1 };
}
