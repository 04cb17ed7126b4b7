/** No call passes more of the library than its limit says. It counts `dist`, so build first. */
import { paced } from 'holdfast-testkit';
import { expect, it } from 'vitest';
import { LIMITS, WAYS } from '../src/ways/limits.js';
import { countOf } from '../src/ways/trace.js';
import { tooFar, walk } from '../src/ways/ways.js';

const TIMES_MAX = 5;
const LONG = { timeout: paced(120_000) };

it('each way is within its limit', LONG, async () => {
  // beside a load, a late process takes longer ways
  const far = new Map<string, string[]>(WAYS.map((name) => [name, []]));
  for (let times = 0; times < TIMES_MAX && far.size > 0; times++) {
    const counts = await walk('redis');
    for (const name of WAYS) {
      const found = tooFar(name, countOf(counts[name]));
      if (found.length === 0) far.delete(name);
      else if (far.has(name)) far.set(name, found);
    }
  }
  expect([...far.values()].flat()).toEqual([]);
});

it('detects a way that became longer', () => {
  const functions = Array.from({ length: 500 }, (_, index) => `file-${index % 60}#f`);
  const { most } = LIMITS.acquire;
  expect(tooFar('acquire', countOf(functions))).toEqual([
    `acquire: 60 files, the limit is ${most.files} and 10 %`,
    `acquire: 499 moves, the limit is ${most.moves} and 10 %`,
    `acquire: 500 functions, the limit is ${most.functions} and 10 %`,
  ]);
});
