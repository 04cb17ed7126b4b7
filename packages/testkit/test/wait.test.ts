import { describe, expect, it } from 'vitest';
import { percentile, sleep, stall, until } from '../src/index.js';

describe('until', () => {
  it('resolves to the first truthy value', async () => {
    let looks = 0;
    expect(await until(() => ++looks === 3 && 'there', { every: 1 })).toBe('there');
    expect(looks).toBe(3);
  });

  it('treats a throwing predicate as "not yet"', async () => {
    let looks = 0;
    const predicate = (): boolean => {
      looks += 1;
      if (looks < 3) throw new Error('too early');
      return true;
    };
    expect(await until(predicate, { every: 1 })).toBe(true);
  });

  it('rejects with the awaited state and the last result', async () => {
    const pattern = [
      /not within 10 ms \(\d+ checks, \d+ ms late, pace \d\.\d\): the key is gone/,
      /\nthe last check returned: 0/,
    ];
    await expect(until(() => 0, { within: 10, what: 'the key is gone' })).rejects.toThrow(
      new RegExp(pattern.map(({ source }) => source).join('')),
    );
    const failing = (): never => {
      throw new Error('no key');
    };
    await expect(until(failing, { within: 10 })).rejects.toThrow('the last check threw: no key');
  });

  it('does not count the time in which the process had no processor', async () => {
    let there = false;
    // the state comes later than the limit, after a time without a processor
    void sleep(1).then(() => stall(300));
    void sleep(320).then(() => void (there = true));
    await until(() => there, { within: 150 });
  });

  it('ends at six times its limit in any case', async () => {
    const start = performance.now();
    const busy = setInterval(() => stall(20), 1);
    await expect(until(() => false, { within: 50 })).rejects.toThrow(/not within 50 ms/);
    clearInterval(busy);
    expect(performance.now() - start).toBeGreaterThan(6 * 50 - 1);
  });
});

describe('percentile', () => {
  const numbers = Array.from({ length: 100 }, (_, i) => 100 - i);

  it.each([
    [0, 1],
    [1, 1],
    [50, 50],
    [99, 99],
    [99.5, 100],
    [100, 100],
  ])('p%s of 1 to 100 is %s', (p, expected) => {
    expect(percentile(numbers, p)).toBe(expected);
  });

  it('does not change its input, and returns NaN for an empty list', () => {
    const input = [3, 1, 2];
    expect(percentile(input, 50)).toBe(2);
    expect(input).toEqual([3, 1, 2]);
    expect(percentile([], 50)).toBeNaN();
  });
});
