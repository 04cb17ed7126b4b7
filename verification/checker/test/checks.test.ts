/** Each check finds its violations, and accepts good histories that are similar. */
import { describe, expect, it } from 'vitest';
import { ALL, CHECKS, violations } from '../src/index.js';
import { FAMILY_BAD, FAMILY_GOOD } from './support/family-cases.js';
import { BAD, GOOD } from './support/cases.js';
import { WAITS_BAD, WAITS_GOOD } from './support/wait-cases.js';
import { found, parseHistory } from './support/parse-history.js';

describe('accepts, or excuses', () => {
  it.each([...GOOD, ...FAMILY_GOOD, ...WAITS_GOOD])('$name', (each) => {
    expect(found(each.lines)).toEqual(each.finds);
  });
});

describe('finds', () => {
  it.each([...BAD, ...FAMILY_BAD, ...WAITS_BAD])('$name', (each) => {
    expect(found(each.lines)).toEqual(each.finds);
  });

  it('a violation by every check', () => {
    const finding = new Set([...BAD, ...FAMILY_BAD, ...WAITS_BAD].flatMap(({ finds }) => finds));
    expect(CHECKS.filter((name) => !finding.has(name))).toEqual([]);
  });

  it('a history without an end event', () => {
    const [one] = violations(parseHistory('0 - calm').slice(0, 1), ALL);
    expect(one).toMatchObject({ check: 'lifecycle', excused: false });
  });
});

it('prints the attempts concerned', () => {
  const [bad] = BAD;
  const [violation] = violations(parseHistory(bad?.lines ?? ''), ALL);
  expect(violation?.text).toBe(`2 of 1 held at once on k
    p1 a on k, 1 of 1: ask 0 grant 1 fence 1 id id-a believed to 4 lost 5
    p2 b on k, 1 of 1: ask 2 grant 3 fence 2 id id-b believed to 6 release 6 released 7 freed`);
});
