/** No call passes more of the library than its limit says. It counts `dist`, so build first. */
import { expect, it } from 'vitest';
import { LIMITS, WAYS } from '../src/ways/limits.js';
import { countOf } from '../src/ways/trace.js';
import { tooFar, walk } from '../src/ways/ways.js';

it('each way is within its limit', async () => {
  const counts = await walk('redis');
  expect(WAYS.flatMap((name) => tooFar(name, countOf(counts[name])))).toEqual([]);
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
