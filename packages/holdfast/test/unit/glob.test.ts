/** Hostile patterns take a number of steps bounded by the lengths of the pattern and the text. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Holdfast, memory } from '../../src/index.js';
import { Glob, match } from '../../src/store/glob.js';
import { keysOf, scanPattern } from '../../src/store/redis/keys.js';

/** The steps to match one pattern. */
function steps(pattern: string, text: string): number {
  let count = 0;
  match(new Glob(pattern).elements, Buffer.from(text), () => {
    count += 1;
  });
  return count;
}

const HOSTILE: readonly (readonly [name: string, pattern: (n: number) => string])[] = [
  ['escapes after an open bracket', (n) => `x[${'\\a'.repeat(n)}`],
  ['escapes after several open brackets', (n) => `x${'[\\a'.repeat(n)}`],
  ['closed sets of escapes', (n) => `${'[\\a\\b]'.repeat(n)}\\`],
  ['many stars', (n) => `${'*a'.repeat(n)}*b`],
  ['adjacent stars', (n) => `${'*'.repeat(n)}b`],
  ['stars and question marks', (n) => `${'*?'.repeat(n)}b`],
  ['stars and sets', (n) => `${'*[^b]'.repeat(n)}b`],
  ['trailing backslashes', (n) => '\\'.repeat(2 * n + 1)],
];

describe('a hostile pattern', () => {
  it.each(HOSTILE)('matches in a bounded number of steps: %s', (_, pattern) => {
    for (const n of [50, 100, 200, 400]) {
      const text = `x${'a'.repeat(n)}`;
      const length = pattern(n).length;
      expect(steps(pattern(n), text)).toBeLessThanOrEqual((length + 1) * (text.length + 1));
    }
  });

  it.each(HOSTILE)('takes twice the steps when only the pattern doubles: %s', (_, pattern) => {
    const text = `x${'a'.repeat(100)}`;
    const [short, long] = [steps(pattern(100), text), steps(pattern(200), text)];
    expect(long).toBeLessThanOrEqual(2 * short + text.length);
  });

  // Parsing steps are not counted, but each must consume a character: this reads 400 times the
  // length of a pattern that once took hours.
  it.each(HOSTILE)('is converted to a pattern for SCAN without backtracking: %s', (_, pattern) => {
    const scanned = scanPattern('p:', pattern(10_000));
    expect(scanned.length).toBeLessThanOrEqual(pattern(10_000).length + 4);
  });
});

describe('a pattern for SCAN', () => {
  const piece = fc.constantFrom('*', '?', '[', ']', '^', '-', '\\', 'a', 'b', '}', '{', 'é');
  const text = (least: number): fc.Arbitrary<string> =>
    fc.array(piece, { minLength: least, maxLength: 8 }).map((parts) => parts.join(''));

  it('finds the name of every key that matches', () => {
    let matched = 0;
    fc.assert(
      fc.property(text(0), text(1), (pattern, key) => {
        if (!new Glob(pattern).matches(key)) return;
        matched += 1;
        const [main] = keysOf('p[1]*:', key);
        expect(new Glob(scanPattern('p[1]*:', pattern)).matches(main)).toBe(true);
      }),
      { numRuns: 4000 },
    );
    expect(matched).toBeGreaterThan(50);
  });

  it.each([
    ['a*', 'p:{a*}'],
    ['[a-]', 'p:{*}'],
    ['[a\\', 'p:{*}'],
    ['a\\', 'p:{*}'],
    ['?b', 'p:{*b}'],
    ['[}a]b', 'p:{*b}'],
    ['\\}b', 'p:{*b}'],
    ['\\ab', 'p:{\\ab}'],
    ['}b', 'p:{*b}'],
  ])('for %j is %j', (pattern, scanned) => {
    expect(scanPattern('p:', pattern)).toBe(scanned);
  });
});

it.each(['x'.repeat(1025), '', '\ud800', null, 7])('refuses the pattern %j', (pattern) => {
  const holdfast = new Holdfast(memory());
  expect(() => holdfast.list(pattern as string)).toThrow(
    expect.objectContaining({ code: 'HOLDFAST_BAD_OPTION', option: 'pattern' }),
  );
});
