/** Grants whose leases were over when the reply arrived. */
import { expect, it } from 'vitest';
import type { Acquire } from '../../../src/engine/commands.js';
import type { AcquireSender } from '../../../src/acquire/acquire-sender.js';
import { Acquisition } from '../../../src/acquire/acquisition.js';
import type { AcquireRequest } from '../../../src/acquire/call.js';
import { believed, type GrantPush } from '../../../src/acquire/pushes.js';
import type { Moment, SuspendDetector } from '../../../src/lease/local-time.js';

const SENDER = {} as AcquireSender;
const ttl = 3000;

function waiting(wait: number): Acquisition {
  const request = { key: 'k', weight: 1, capacity: 1, terms: { owner: '', ttl, wait } };
  return new Acquisition(SENDER, 'a', request as AcquireRequest, { at: 0 } as Moment);
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

it('a pushed grant that is almost over here is checked with the store', () => {
  const suspend = { toLocal: ({ at }: Moment) => at } as SuspendDetector;
  const acquisition = waiting(Number.POSITIVE_INFINITY);
  acquisition.asked = { owner: '', claim: 1000, handOffs: 0 } as Acquire;
  const push = { kind: 'grant', fence: 7, now: 5, left: 1_000_000, handOffs: 0, holds: 1 };
  // no answer told the clock of the store, so the grant counts from the request
  const after = (at: number): unknown =>
    believed(push as GrantPush, acquisition, suspend, { at } as Moment, 1000);
  expect(after(800)).toMatchObject({ fence: 7 });
  expect(after(900)).toBeUndefined();
  expect(after(1100)).toBeUndefined();
});
