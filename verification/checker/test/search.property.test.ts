/** On small histories the checks agree with a search over all orders. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Attempts, type Attempt } from '../src/attempts.js';
import { exclusion } from '../src/checks/exclusion.js';
import { fence } from '../src/checks/fence.js';
import { linear } from '../src/checks/linear.js';
import type { Happening, HistoryEvent } from '../src/format.js';
import { violations } from '../src/run-checks.js';
import { isLinearizable } from '../src/search.js';

const CHECKED = [exclusion, fence, linear];
const PROCESSES = 4;

interface Draw {
  readonly weight: number;
  readonly fence: number;
  /** The durations between its events. */
  readonly steps: readonly number[];
  readonly end: 'freed' | 'lost' | 'crash' | 'kept-silent';
}

const draws = fc.array(
  fc.record({
    weight: fc.integer({ min: 1, max: 2 }),
    fence: fc.integer({ min: 1, max: 9 }),
    steps: fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 5, maxLength: 5 }),
    end: fc.constantFrom('freed', 'freed', 'lost', 'crash', 'kept-silent'),
  }) as fc.Arbitrary<Draw>,
  { minLength: 1, maxLength: PROCESSES },
);

function historyOf(all: readonly Draw[], capacity: number): HistoryEvent[] {
  const events: HistoryEvent[] = [];
  for (const [index, { weight, fence: got, steps, end }] of all.entries()) {
    const about = { k: 'k', a: `a${index}` };
    const [ask = 0, wait = 0, hold = 0, rest = 0, answer = 0] = steps;
    let t = ask + index / 10;
    const add = (happening: Happening): void =>
      void events.push({ t, p: `p${index}`, ...happening });
    add({ e: 'ask', ...about, weight: Math.min(weight, capacity), capacity, fair: false });
    t += wait;
    add({ e: 'grant', ...about, id: `id${index}`, fence: got });
    t += hold;
    add({ e: 'hold', ...about });
    t += rest;
    if (end === 'lost') add({ e: 'lost', ...about });
    if (end === 'crash') add({ e: 'crash' });
    if (end !== 'freed') continue;
    add({ e: 'release', ...about });
    t += answer;
    add({ e: 'released', ...about, outcome: 'freed' });
  }
  const ordered = events.sort((one, other) => one.t - other.t);
  return [...ordered, { t: 1000, p: '-', e: 'end' }];
}

function searched(events: readonly HistoryEvent[]): boolean {
  const released = new Map<Attempt, number>();
  const all = new Set<Attempt>();
  const attempts = new Attempts({ bad: () => undefined, settled: () => undefined });
  for (const [at, event] of events.entries()) {
    const attempt = attempts.see(event, at);
    if (attempt === undefined) continue;
    all.add(attempt);
    if (event.e === 'released') released.set(attempt, at);
  }
  return isLinearizable([...all], (attempt) => released.get(attempt) ?? Number.POSITIVE_INFINITY);
}

it('the checks accept a history exactly if the search finds an order', () => {
  const seen = { good: 0, bad: 0, linear: 0 };
  fc.assert(
    fc.property(draws, fc.integer({ min: 1, max: 3 }), (all, capacity) => {
      const events = historyOf(all, capacity);
      const found = violations(events, CHECKED).filter(({ check }) => check !== 'lifecycle');
      expect(found.length === 0).toBe(searched(events));
      seen[found.length === 0 ? 'good' : 'bad'] += 1;
      if (found.every(({ check }) => check === 'linear') && found.length > 0) seen.linear += 1;
    }),
    { numRuns: 3000, seed: 7 },
  );
  // good and bad histories were frequent, and also those that only the order of fences shows
  expect(seen.good).toBeGreaterThan(300);
  expect(seen.bad).toBeGreaterThan(300);
  expect(seen.linear).toBeGreaterThan(30);
});
