/** A wait goes on while the store is away. */
import { HoldfastError } from 'holdfast';
import { beforeEach, expect, it, type MockInstance, vi } from 'vitest';
import { now } from '../../src/child/protocol.js';
import { Notes } from '../../src/notes.js';
import { despiteOutages } from '../../src/outage.js';

const notes = new Notes();
const away = (): never => {
  throw new HoldfastError('HOLDFAST_UNREACHABLE', 'no reply');
};

let warning: MockInstance<Notes['warning']>;
beforeEach(() => {
  warning = vi.spyOn(notes, 'warning').mockImplementation(() => undefined);
});

it('repeats an attempt after an answer, and tells each outage once', async () => {
  let attempts = 0;
  const attempt = async (answered: () => void): Promise<string> => {
    attempts += 1;
    if (attempts === 1) answered();
    return attempts < 3 ? away() : 'granted';
  };
  const until = now() + 60_000;
  expect(await despiteOutages(attempt, { key: 'k', notes, until })).toBe('granted');
  expect(warning.mock.calls).toEqual([
    ['outage', expect.stringContaining('still waiting for k'), { key: 'k' }],
  ]);
});

it.each([
  ['without an answer of the store', () => Infinity, false, away],
  ['after the end of the wait', () => now(), true, away],
  [
    'for a refusal, which each repetition would get too',
    () => Infinity,
    true,
    () => Promise.reject(new HoldfastError('HOLDFAST_REFUSED', 'MOVED, no reply')),
  ],
  ['for other errors', () => Infinity, true, () => Promise.reject(new Error('no reply'))],
])('does not repeat it %s', async (_, until, answers, fail) => {
  let attempts = 0;
  const attempt = async (answered: () => void): Promise<void> => {
    attempts += 1;
    if (answers) answered();
    await fail();
  };
  const patience = { key: 'k', notes, until: until() };
  await expect(despiteOutages(attempt, patience)).rejects.toThrow('no reply');
  expect(attempts).toBe(1);
});
