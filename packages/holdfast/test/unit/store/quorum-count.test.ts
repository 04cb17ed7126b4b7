/** A round whose process was blocked: its timers run before its sockets are read. */
import { expect, it } from 'vitest';
import type { Clock } from '../../../src/base/clock.js';
import { Count, type Round } from '../../../src/store/quorum/count.js';
import type { Answer, Member } from '../../../src/store/quorum/member.js';

const YES: Answer = {
  vote: { status: 'yes', time: 0, ballot: '', value: '', mark: 0, left: '' },
};

/** @param arrived the answers that are here when the timer for slow servers runs */
function askedMore(arrived: number): boolean {
  const timers: (() => void)[] = [];
  const rounds: Round[] = [];
  const clock: Clock = {
    now: () => 0,
    wall: () => 0,
    after: (_ms, callback) => {
      timers.push(callback);
      return { cancel: () => undefined };
    },
    afterIo: (callback) => {
      for (let answer = 0; answer < arrived; answer++) count.add(YES);
      callback();
    },
  };
  const resolve = (round: Round): void => void rounds.push(round);
  const count = new Count({ servers: 3, majority: 2, clock, slow: 5, leaves: false, resolve });
  let asked = false;
  const spared = {} as Member;
  count.spare(
    [spared],
    () => (asked = true),
    () => undefined,
  );
  for (const timer of timers) timer();
  expect(rounds).toHaveLength(arrived === 2 ? 1 : 0);
  return asked;
}

it('asks no further server if the answers are here, and one if an answer is missing', () => {
  expect(askedMore(2)).toBe(false);
  expect(askedMore(1)).toBe(true);
});
