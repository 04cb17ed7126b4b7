/** Grants whose leases were over when the reply arrived. */
import { expect, it } from 'vitest';
import { Acquisition } from '../../../src/acquire/acquisition.js';
import type { AcquireRequest } from '../../../src/acquire/call.js';
import type { Moment } from '../../../src/lease/local-time.js';

const ttl = 3000;

function waiting(wait: number): Acquisition {
  const request = { key: 'k', weight: 1, capacity: 1, terms: { ttl, wait } };
  return new Acquisition('a', request as AcquireRequest, { at: 0 } as Moment);
}

it('three leases of the whole ttl that came too late end the wait', () => {
  const acquisition = waiting(Number.POSITIVE_INFINITY);
  const ends = [1, 2, 3].map(() => acquisition.tooLate(ttl * 1000));
  expect(ends).toEqual([false, false, true]);
});

it('leases that the queue granted for a claim window do not end the wait', () => {
  const acquisition = waiting(Number.POSITIVE_INFINITY);
  const ends = Array.from({ length: 10 }, () => acquisition.tooLate(1000 * 1000));
  expect(new Set(ends)).toEqual(new Set([false]));
});

it('an acquisition that does not wait ends with its first late lease', () => {
  expect(waiting(0).tooLate(1)).toBe(true);
});
