/** The check of exclusion by weight, which the trials are judged by. */
import { describe, expect, it } from 'vitest';
import { excesses, outOfOrder, type Weighed } from '../src/support/weights.js';

function one(from: number, to: number, weight: number, fence: number): Weighed {
  return { key: 'k', who: `w${fence}`, from, to, fence, weight, capacity: 5 };
}

describe('too much at a time', () => {
  it('is not what fits', () => {
    expect(excesses([one(0, 10, 2, 1), one(1, 10, 3, 2), one(10, 20, 5, 3)])).toEqual([]);
  });

  it('is seen where no two of them would be too much', () => {
    const third = one(2, 10, 2, 3);
    const found = excesses([one(0, 10, 2, 1), one(1, 10, 2, 2), third]);
    expect(found.map(({ second }) => second)).toEqual([third]);
  });

  it('is not seen among different keys', () => {
    expect(excesses([one(0, 10, 5, 1), { ...one(1, 10, 5, 2), key: 'other' }])).toEqual([]);
  });
});

describe('fences out of order', () => {
  it('are those of whoever could not be inside together', () => {
    const first = one(0, 1, 3, 9);
    const second = one(2, 3, 3, 8);
    expect(outOfOrder([first, second])).toEqual([{ first, second }]);
  });

  it('are not those of whoever could', () => {
    expect(outOfOrder([one(0, 1, 2, 9), one(2, 3, 3, 8)])).toEqual([]);
  });

  it('are seen behind others with smaller ones', () => {
    const first = one(0, 1, 5, 9);
    const between = one(2, 3, 1, 10);
    const second = one(4, 5, 5, 8);
    expect(outOfOrder([first, between, second])).toHaveLength(2);
  });
});
