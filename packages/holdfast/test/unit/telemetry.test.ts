/** Messages on the channels of `diagnostics_channel`, the counters, and the health check. */
import { tracingChannel } from 'node:diagnostics_channel';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Holdfast, type HoldfastOptions } from '../../src/index.js';
import { later } from '../suites/helpers.js';
import { of, record, type Recorded, TRACING } from '../support/channels.js';
import { settle, VirtualClock } from '../support/virtual-clock.js';
import { WatchedStore } from '../support/watched-store.js';

const SETTINGS = { ttl: 10_000, claimWindow: 100 };

let clock: VirtualClock;
let store: WatchedStore;
let one: Holdfast;
let other: Holdfast;
let found: Recorded[];
let stop: () => void;

beforeEach(() => {
  clock = new VirtualClock();
  store = new WatchedStore(clock);
  one = make({ label: 'billing' });
  other = make();
  ({ found, stop } = record(one));
});

afterEach(() => stop());

function make(options: HoldfastOptions = {}): Holdfast {
  return new Holdfast(store, { ...SETTINGS, clock, ...options });
}

async function soon<T>(promise: Promise<T>): Promise<T> {
  void later(promise);
  await clock.advance(300);
  return promise;
}

const ENDED = ['forced:asyncStart', 'forced:asyncEnd'];

const names = (): string[] => found.map(({ channel }) => channel);

/** Each primitive, by one acquisition and its release. */
const PRIMITIVES: Record<string, (h: Holdfast) => Promise<unknown>> = {
  mutex: (h) => h.mutex('k').run(() => undefined),
  'fair mutex': (h) => h.mutex('k', { fair: true }).run(() => undefined),
  'reentrant mutex': (h) => h.mutex('k', { reentrant: true }).run(() => undefined),
  'read lock': (h) => h.rwLock('k').read.run(() => undefined),
  'write lock': (h) => h.rwLock('k').write.run(() => undefined),
  semaphore: (h) => h.semaphore('k', { permits: 3 }).run(() => undefined, { permits: 2 }),
  'several keys': (h) => h.allOf(['k']).run(() => undefined),
  schedule: (h) => h.schedule('k', { atLeast: 0 }).runOnce(() => undefined),
  election: async (h) => (await h.election('k').campaign()).resign(),
  'single flight': (h) => h.singleFlight('k').do(() => 1),
  'owner locks': async (h) => {
    await h.ownerLocks.lock('k', 'me', 1000);
    await h.ownerLocks.unlock('k', 'me');
  },
};

describe.each(Object.entries(PRIMITIVES))('%s', (_, use) => {
  it('publishes its acquisition and its release', async () => {
    await soon(use(one));
    expect(of(found, 'acquire:start')).toMatchObject([{ key: 'k', instance: { id: one.id } }]);
    expect(of(found, 'acquire:asyncEnd')).toMatchObject([{ granted: true, queued: false }]);
    expect(of(found, 'release:asyncEnd')).toMatchObject([{ key: 'k', outcome: 'freed' }]);
    expect(one.stats()).toMatchObject({ held: 0, waiting: 0, acquisitions: 1, losses: 0 });
  });

  it('creates no message without a subscriber', async () => {
    stop();
    const starts = TRACING.map((name) =>
      vi.spyOn(tracingChannel(`holdfast:${name}`).start, 'runStores'),
    );
    const begun = (): number => starts.flatMap(({ mock }) => mock.calls).length;
    await soon(use(one));
    expect(begun()).toBe(0);
    // the control: with a subscriber, the same calls create messages
    ({ stop } = record(one));
    await soon(use(one));
    expect(begun()).toBeGreaterThan(0);
  });
});

describe('an acquisition', () => {
  it('has its terms, and its lease at the end', async () => {
    const lease = await soon(one.mutex('k').acquire({ wait: 500 }));
    const { id, fence } = lease;
    expect(of(found, 'acquire:start')).toEqual([
      {
        instance: { id: one.id, store: 'watched', prefix: 'holdfast:', label: 'billing' },
        ...{ key: 'k', permits: 1, capacity: 1, wait: 500, label: 'billing', queued: false },
        condition: undefined,
      },
    ]);
    expect(of(found, 'acquire:asyncEnd')).toMatchObject([{ granted: true, id, fence }]);
  });

  it('after a close publishes its error', async () => {
    await clock.until(one.close());
    await expect(one.mutex('k').acquire()).rejects.toMatchObject({ code: 'HOLDFAST_CLOSED' });
    expect(of(found, 'acquire:error')).toMatchObject([{ key: 'k' }]);
  });

  it('that waits publishes that once, and how it got the lease', async () => {
    const before = await soon(other.mutex('k').acquire());
    const waiting = later(one.mutex('k').acquire());
    await clock.advance(1000);
    expect(names()).toEqual(['acquire:start', 'acquire:end', 'wait']);
    expect(one.stats()).toMatchObject({ held: 0, waiting: 1 });
    expect(one.statsByKey()).toEqual(new Map([['k', { held: 0, permits: 0, waiting: 1 }]]));
    await soon(before.release());
    const lease = await waiting;
    expect(of(found, 'handoff')).toMatchObject([{ key: 'k', fence: lease.fence, how: 'push' }]);
    expect(of(found, 'acquire:asyncEnd')).toMatchObject([{ queued: true, granted: true }]);
    expect(one.stats()).toMatchObject({ held: 1, waiting: 0, handOffs: 1 });
  });

  it.each([
    ['refused', { wait: 0 }, { granted: false }],
    ['timed out', { wait: 100 }, { error: { code: 'HOLDFAST_TIMEOUT' } }],
  ])('that was %s says so', async (_, options, end) => {
    await soon(other.mutex('k').acquire());
    const mutex = one.mutex('k');
    const asked = options.wait === 0 ? mutex.tryAcquire(options) : mutex.acquire(options);
    await soon(asked.catch(() => undefined));
    expect(of(found, 'acquire:asyncEnd')).toMatchObject([end]);
  });

  it('of tasks of one process publishes local hand-offs', async () => {
    const runs = Promise.all([1, 2, 3].map(() => one.mutex('k').run(() => undefined)));
    await soon(runs);
    expect(of(found, 'handoff').map(({ how }) => how)).toEqual(['local', 'local']);
    expect(of(found, 'run:asyncEnd')).toHaveLength(3);
    expect(one.stats()).toMatchObject({ acquisitions: 3, releases: 3, handOffs: 2 });
  });

  it('after a wait at a condition names the condition', async () => {
    const mutex = one.mutex('k');
    const lease = await soon(mutex.acquire());
    const woken = later(mutex.condition('ready').await(lease));
    await clock.advance(300);
    const theirs = await soon(other.mutex('k').acquire());
    await soon(other.mutex('k').condition('ready').signal(theirs));
    await soon(theirs.release());
    expect(await woken).toBe(true);
    const [, again] = of(found, 'acquire:asyncEnd');
    expect(again).toMatchObject({ condition: 'ready', granted: true, fence: lease.fence });
  });
});

it('a poll that finds a lease is a hand-off too, and polls are counted', async () => {
  store.pushes = false;
  const before = await soon(other.mutex('k').acquire());
  const waiting = later(one.mutex('k').acquire());
  await clock.advance(1000);
  await soon(before.release());
  await waiting;
  expect(of(found, 'handoff')).toMatchObject([{ how: 'poll' }]);
  const { pollings, pushes, commands } = one.stats();
  expect([pollings > 5, pushes, commands > pollings]).toEqual([true, false, true]);
});

describe('a renewal', () => {
  it('is one message for several leases, with its delay', async () => {
    for (const key of ['a', 'b', 'c']) await soon(one.mutex(key).acquire());
    await clock.advance(7000);
    const [end, ...more] = of(found, 'renew:asyncEnd');
    expect(more).toEqual([]);
    expect(end).toMatchObject({ keys: ['a', 'b', 'c'], ttl: 10_000, renewed: 3 });
    expect(end?.['delay']).toBeLessThan(700);
    expect(one.stats()).toMatchObject({ renewals: 3, failedRenewals: 0 });
  });

  it('after a stall of the event loop has a delay', async () => {
    await soon(one.mutex('k').acquire());
    clock.stall(8000);
    await clock.advance(0);
    const [message] = of(found, 'renew:start');
    expect(message?.['delay']).toBeGreaterThan(2000);
  });

  it('that failed counts', async () => {
    await soon(one.mutex('k').acquire());
    store.ail('renew', 'failed');
    await clock.advance(7000);
    expect(of(found, 'renew:error').length).toBeGreaterThan(0);
    expect(one.stats().failedRenewals).toBeGreaterThan(0);
  });
});

describe('a lost lease', () => {
  it('is published once, with its reason and how long it was held', async () => {
    const lease = await soon(one.mutex('k').acquire());
    store.ail('renew', 'failed');
    await clock.advance(12_000);
    expect(lease.state).toBe('lost');
    await soon(lease.release());
    expect(of(found, 'lost')).toMatchObject([{ key: 'k', id: lease.id, reason: 'expired' }]);
    expect(of(found, 'lost')[0]?.['held']).toBeGreaterThan(9000);
    expect(one.stats()).toMatchObject({ held: 0, losses: 1 });
  });

  it('by force is published by both sides', async () => {
    const victim = await soon(other.mutex('k').acquire());
    const watch = record(other);
    await soon(one.forceRelease('k', { reason: 'stuck' }));
    await clock.advance(6000);
    watch.stop();
    expect(of(found, 'forced:asyncEnd')).toMatchObject([{ key: 'k', reason: 'stuck', ended: 1 }]);
    expect(of(watch.found, 'lost')).toMatchObject([{ id: victim.id }]);
    expect(String(of(watch.found, 'lost')[0]?.['reason'])).toContain('by force');
    // the marker with the reason is no lock
    expect(of(found, 'acquire:start')).toEqual([]);
  });
});

it('the wait for the end of a forced lease is no acquisition, and counts nothing', async () => {
  store.pushes = false;
  await soon(other.mutex('k').acquire());
  const forcing = later(one.forceRelease('k', { wait: 9000 }));
  await clock.advance(4000);
  expect(one.stats()).toMatchObject({ held: 0, waiting: 0 });
  expect([...one.statsByKey().keys()]).toEqual([]);
  await clock.advance(6000);
  expect(await forcing).toMatchObject({ ended: 1, overlap: 0 });
  expect(new Set(names())).toEqual(new Set(['forced:start', 'forced:end', ...ENDED]));
  expect(one.stats()).toMatchObject({ acquisitions: 0, handOffs: 0, releases: 0 });
});

describe('the health check', () => {
  it('is ok, takes a lock of its own, and frees it', async () => {
    const health = await soon(one.health());
    expect(health).toEqual({ status: 'ok', problems: [], roundTrip: 0 });
    const [acquire] = store.seen('acquire');
    expect(store.seen('release')).toMatchObject([{ key: acquire?.key, id: acquire?.id }]);
    expect(acquire?.key).toContain(one.id);
    const locks = [];
    for await (const lock of one.list('*', { markers: true })) locks.push(lock);
    expect(locks).toEqual([]);
    expect(one.stats().acquisitions).toBe(0);
  });

  it('is down if the store answers reads and grants no lock', async () => {
    store.ail('acquire', 'refused');
    const { status, problems } = await soon(one.health());
    expect([status, problems]).toEqual(['down', [expect.stringContaining('grants no lock')]]);
    // negative control: a look succeeds
    expect(await soon(one.inspect('k'))).toBeNull();
  });

  it('is down if the store does not answer', async () => {
    store.ail('acquire', 'lost');
    const checking = one.health();
    await clock.advance(3000);
    expect(await checking).toMatchObject({ status: 'down', roundTrip: undefined });
  });

  it('is down after a close', async () => {
    await soon(one.close());
    expect(await one.health()).toMatchObject({ status: 'down', problems: ['it is closed'] });
  });

  it('is degraded while renewals fail', async () => {
    await soon(one.mutex('k').acquire());
    store.ail('renew', 'failed');
    await clock.advance(6500);
    const { status, problems } = await soon(one.health());
    expect([status, problems]).toEqual(['degraded', ['the last renewal of 1 leases failed']]);
  });

  it('is degraded while waiters have to poll', async () => {
    store.pushes = false;
    await soon(other.mutex('k').acquire());
    void later(one.mutex('k').acquire());
    await clock.advance(500);
    const { status, problems } = await soon(one.health());
    expect([status, problems[0]]).toEqual(['degraded', expect.stringContaining('1 calls wait')]);
  });
});

it('has the same counters with and without subscribers', async () => {
  stop();
  for (const use of Object.values(PRIMITIVES)) await soon(use(one));
  const without = one.stats();
  const again = make();
  ({ stop } = record(again));
  for (const use of Object.values(PRIMITIVES)) await soon(use(again));
  await settle();
  expect(again.stats()).toEqual(without);
});
