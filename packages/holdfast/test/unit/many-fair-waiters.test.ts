/**
 * Thousands of fair tasks of one process, each with a place of its own in the queue of the store:
 * each call, hand-off and abort does the same work, however many others wait. In virtual time. The
 * work is counted, not timed.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Holdfast, type Lease } from '../../src/index.js';
import { settle, VirtualClock } from '../support/virtual-clock.js';
import { WatchedStore } from '../support/watched-store.js';
import { WorkCounter } from '../support/work.js';

/** Twice as many tasks are twice the work, and a little more for sets that grow. */
const LINEAR = 2.2;
const FEW = 200;
/** V8 may optimize a function between two counts, and counts other blocks of it from then on. */
const PAIRS = 3;

interface Waiters {
  readonly lease: Lease;
  readonly tasks: Promise<Lease>[];
  readonly stop: AbortController;
}

async function waiters(count: number): Promise<Waiters> {
  const clock = new VirtualClock();
  const store = new WatchedStore(clock);
  const mutex = new Holdfast(store, { clock, ttl: 1e6 }).mutex('k');
  const lease = await mutex.acquire({ fair: true });
  const stop = new AbortController();
  const tasks: Promise<Lease>[] = [];
  for (let left = count; left > 0; left--) {
    const task = mutex.acquire({ fair: true, signal: stop.signal });
    task.catch(() => undefined);
    tasks.push(task);
    // each arrives in a step of its own
    await settle();
  }
  return { lease, tasks, stop };
}

const counter = new WorkCounter('/src/acquire/');
beforeAll(() => counter.start());
afterAll(() => counter.stop());

async function asked(count: number): Promise<number> {
  await counter.take();
  await waiters(count);
  return counter.take();
}

async function ended(count: number): Promise<number> {
  const { tasks, stop } = await waiters(count);
  await counter.take();
  stop.abort();
  await Promise.allSettled(tasks);
  return counter.take();
}

async function served(count: number): Promise<number> {
  const { lease, tasks } = await waiters(count);
  await counter.take();
  await lease.release();
  for (const task of tasks) await (await task).release();
  return counter.take();
}

it.each([
  ['asks', asked],
  ['is aborted', ended],
  ['is served', served],
])('a fair task that %s does the same work, however many wait', async (_, work) => {
  const ratios: number[] = [];
  for (let pair = 0; pair < PAIRS; pair++) {
    const [few, many] = [await work(FEW), await work(2 * FEW)];
    expect(few).toBeGreaterThan(FEW);
    ratios.push(many / few);
  }
  expect(Math.min(...ratios)).toBeLessThan(LINEAR);
});
