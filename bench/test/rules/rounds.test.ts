/** The rules of the bench: noisy rounds, exclusion, settings. */
import { expect, it } from 'vitest';
import { overlaps } from '../../src/exclusion.js';
import { type Contender, inTurns, judge } from '../../src/rounds.js';
import { readSettings } from '../../src/settings.js';
import { ours } from '../../src/variants.js';

it('drops the rounds in which the calibration took long, and only those', () => {
  const noisy = judge([10, 12, 10, 13, 9, 40]).map((round) => round.noisy);
  expect(noisy).toEqual([false, false, false, false, false, true]);
});

it('counts all rounds if fewer than two are quiet', () => {
  expect(judge([10]).map((round) => round.noisy)).toEqual([false]);
  expect(judge([10, 90]).map((round) => round.noisy)).toEqual([false, false]);
});

it('finds an overlap of two processes, and none in a hand-off', () => {
  const first = [0, 10, 30, 40];
  expect(overlaps([first, [10, 20, 41, 50]])).toBe(0);
  expect(overlaps([first, [9, 20, 39, 50]])).toBe(2);
});

it('finds an acquisition within a long one', () => {
  expect(
    overlaps([
      [0, 100],
      [10, 20, 30, 40],
    ]),
  ).toBe(2);
});

/** A contender whose rate is known for each round. */
function contender(name: string, rates: readonly (number | Error)[], against?: string): Contender {
  let round = 0;
  return {
    variant: { ...ours('ioredis'), name },
    ...(against === undefined ? {} : { against }),
    measure: () => {
      const rate = rates[round++] ?? Number.NaN;
      if (rate instanceof Error) return Promise.reject(rate);
      return Promise.resolve({ figures: { rate }, violations: 0 });
    },
  };
}

it('compares within a round, and leaves the warm-up round out', async () => {
  const contenders = [
    contender('base', [1, 10, 20, 40]),
    contender('twice', [1000, 20, 40, 80], 'base'),
  ];
  const { rows } = await inTurns(contenders, 3, 'rate', () => 1);
  expect(rows[0]?.figures.rate).toMatchObject({ min: 10, max: 40, rounds: [10, 20, 40] });
  expect(rows[1]?.against?.ratio.rounds).toEqual([2, 2, 2]);
});

it('does not count the readings of a noisy round', async () => {
  const contenders = [contender('ours', [1, 10, 20, 1000])];
  // two calibrations a round; the last round meets another program
  const calibrations = [1, 1, 1, 1, 1, 1, 9, 9];
  const { rows, rounds } = await inTurns(contenders, 3, 'rate', () => calibrations.shift() ?? 1);
  expect(rounds.map((round) => round.noisy)).toEqual([false, false, true]);
  expect(rows[0]?.figures.rate).toMatchObject({ median: 15, max: 20, rounds: [10, 20, 1000] });
});

it('shows a contender that fails, and goes on with the others', async () => {
  const contenders = [
    contender('sound', [1, 1, 1]),
    contender('fails', [1, new Error('it broke')], 'sound'),
  ];
  const { rows } = await inTurns(contenders, 2, 'rate', () => 1);
  expect(rows.map(({ state, note }) => [state, note])).toEqual([
    ['ok', undefined],
    ['failed', 'it broke'],
  ]);
});

it('refuses what it does not know', () => {
  expect(() => readSettings(['--only', 'a,z'])).toThrow('--only z');
  expect(() => readSettings(['--rounds', '0'])).toThrow('--rounds 0');
  expect(() => readSettings(['--server', 'mysql'])).toThrow('--server mysql');
  expect(readSettings(['--only', 'c,a'])?.scenarios).toEqual(['a', 'c']);
});
