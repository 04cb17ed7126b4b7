/** The poll timer of a poll queue, in virtual time. */
import { beforeEach, expect, it } from 'vitest';
import type { Acquisition } from '../../../src/acquire/acquisition.js';
import { PollQueue } from '../../../src/acquire/poll-queues.js';
import { VirtualClock } from '../../support/virtual-clock.js';

const PERIOD = 1000;
const waiter = {} as Acquisition;
let clock: VirtualClock;
let queue: PollQueue;
let polls: number[];
beforeEach(() => {
  clock = new VirtualClock();
  const start = clock.now();
  polls = [];
  queue = new PollQueue('k', clock, () => polls.push(clock.now() - start));
  queue.add(waiter);
});

it.each([
  { what: 'half a millisecond before the end of the lease', next: 100_000, at: 99.5 },
  { what: 'after the shortest timer if the lease ends sooner', next: 700, at: 1 },
  { what: 'soon if the lock is free and nothing was granted', next: 0, at: 2 },
  { what: 'after the period if the lease lasts longer', next: 5_000_000, at: PERIOD },
])('polls once, $what', async ({ next, at }) => {
  queue.plan(next, PERIOD);
  await clock.advance(2 * PERIOD);
  expect(polls).toEqual([at]);
});

it('keeps the earlier of two plans', async () => {
  queue.plan(100_000, PERIOD);
  queue.plan(50_000, PERIOD);
  queue.plan(80_000, PERIOD);
  await clock.advance(PERIOD);
  expect(polls).toEqual([49.5]);
});

it('does not poll without a waiter', async () => {
  queue.plan(100_000, PERIOD);
  queue.remove(waiter);
  await clock.advance(PERIOD);
  queue.plan(100_000, PERIOD);
  await clock.advance(PERIOD);
  expect(polls).toEqual([]);
});
