/** Each check finds what it is for, and leaves alone what only looks like it. */
import { describe, expect, it } from 'vitest';
import { ALL, CHECKS, violations } from '../src/index.js';
import { FAMILY_BAD, FAMILY_GOOD } from './support/family-stories.js';
import { BAD, GOOD } from './support/stories.js';
import { WAITS_BAD, WAITS_GOOD } from './support/wait-stories.js';
import { found, story } from './support/story.js';

describe('is let pass', () => {
  it.each([...GOOD, ...FAMILY_GOOD, ...WAITS_GOOD])('$name', (each) => {
    expect(found(each.story)).toEqual(each.finds);
  });
});

describe('is found', () => {
  it.each([...BAD, ...FAMILY_BAD, ...WAITS_BAD])('$name', (each) => {
    expect(found(each.story)).toEqual(each.finds);
  });

  it('by every check at least once', () => {
    const finding = new Set([...BAD, ...FAMILY_BAD, ...WAITS_BAD].flatMap(({ finds }) => finds));
    expect(CHECKS.filter((name) => !finding.has(name))).toEqual([]);
  });

  it('and a history without an end', () => {
    const [one] = violations(story('0 - calm').slice(0, 1), ALL);
    expect(one).toMatchObject({ check: 'lifecycle', excused: false });
  });
});

it('shows the attempts concerned', () => {
  const [bad] = BAD;
  const [violation] = violations(story(bad?.story ?? ''), ALL);
  expect(violation?.text).toBe(`2 of 1 held at once on k
    p1 a on k, 1 of 1: ask 0 grant 1 fence 1 id id-a believed to 4 lost 5
    p2 b on k, 1 of 1: ask 2 grant 3 fence 2 id id-b believed to 6 release 6 released 7 freed`);
});
