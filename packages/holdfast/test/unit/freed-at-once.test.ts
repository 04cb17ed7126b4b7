/**
 * A release that has resolved to `freed` without a task that waits leaves the lock free: no entry
 * of the same process, which nothing waits for, gets it from the store. In virtual time.
 */
import { beforeEach, describe, expect, it } from 'vitest';
import { type AcquireOptions, Holdfast, type Lease } from '../../src/index.js';
import { failure, later } from '../suites/helpers.js';
import { OPTIONS, RootWorld } from '../support/root-world.js';

let world: RootWorld;
let { clock, store, other } = new RootWorld();
let holdfast: Holdfast;

beforeEach(() => {
  world = new RootWorld();
  ({ clock, store, other } = world);
  holdfast = new Holdfast(store, { ...OPTIONS, clock, localHandOffs: 64 });
});

const take = (options: AcquireOptions = {}): Promise<Lease> =>
  later(holdfast.mutex('k').acquire({ fair: true, ...options }));

/** A lease, and a task that is directly behind it in the queue of the store. */
async function neighbours(options: AcquireOptions = {}): Promise<[Lease, Promise<Lease>]> {
  const first = await take();
  await clock.advance(10);
  const next = take(options);
  await clock.advance(10);
  return [first, next];
}

async function expectFree(): Promise<void> {
  expect(await other.mutex('k').tryAcquire()).not.toBeNull();
}

describe('a fair lock is free for other instances', () => {
  it('if a task releases in the step in which it got the lease', async () => {
    const [first, next] = await neighbours();
    void first.release();
    expect(await (await next).release()).toBe('freed');
    await expectFree();
  });

  it('if the task that waited in the same step was cancelled before the release', async () => {
    const lease = await take();
    const stop = new AbortController();
    const waiting = failure(take({ signal: stop.signal }), 'HOLDFAST_ABORTED');
    stop.abort();
    expect(await lease.release()).toBe('freed');
    await expectFree();
    await waiting;
  });

  it('if the task that waited in the same step was cancelled after the release', async () => {
    const lease = await take();
    const stop = new AbortController();
    const waiting = failure(take({ signal: stop.signal }), 'HOLDFAST_ABORTED');
    const released = lease.release();
    stop.abort();
    expect(await released).toBe('freed');
    await expectFree();
    await waiting;
  });

  it('if the next task gets the lease and waits at a condition in the same step', async () => {
    const [first, next] = await neighbours();
    void first.release();
    const condition = holdfast.mutex('k').condition('c');
    void later(condition.await(await next));
    await clock.advance(0);
    const sent = world.sent();
    expect(sent.indexOf('release')).toBeLessThan(sent.indexOf('park'));
    await expectFree();
  });
});

it('a further release tells the same, also if the end of the root had no answer', async () => {
  const lease = await take();
  const next = take();
  store.ail('turn', 'lost');
  expect(await lease.release()).toBe('freed');
  await clock.advance(2500);
  expect(store.seen('turn').length).toBeGreaterThan(1);
  let told: string | undefined;
  void lease.release().then((outcome) => {
    told = outcome;
  });
  await clock.advance(0);
  expect(told).toBe('freed');
  store.heal();
  await clock.advance(2000);
  expect((await next).held).toBe(true);
});
