/** Questions about locks: an unused semaphore, a long queue, a store that does not answer. */
import { beforeEach, describe, expect, it } from 'vitest';
import { Holdfast } from '../../src/index.js';
import { failure } from '../suites/helpers.js';
import { settle, VirtualClock } from '../support/virtual-clock.js';
import { WatchedStore } from '../support/watched-store.js';

const SETTINGS = { claimWindow: 1000, requestTimeout: 200, unreachableAfter: 5000 };

let clock: VirtualClock;
let store: WatchedStore;
let one: Holdfast;
let other: Holdfast;

beforeEach(() => {
  clock = new VirtualClock();
  store = new WatchedStore(clock);
  one = new Holdfast(store, { ...SETTINGS, clock });
  other = new Holdfast(store.inner, { ...SETTINGS, clock });
});

describe('a semaphore that is not in use any more', () => {
  beforeEach(async () => {
    const lease = await other.semaphore('s', { permits: 3 }).acquire(2);
    await lease.release();
  });

  it('has the number of permits of the next request', async () => {
    const semaphore = one.semaphore('s', { permits: 5 });
    expect(await semaphore.available()).toBe(5);
    expect(await semaphore.whenPermits(5, { wait: 0 })).toBe(true);
    expect((await semaphore.drain())?.permits).toBe(5);
  });

  it('is not made smaller by a question', async () => {
    const semaphore = one.semaphore('s', { permits: 5 });
    expect(await semaphore.whenPermits(6, { wait: 0 })).toBe(false);
    expect((await semaphore.acquire(5)).held).toBe(true);
  });
});

it('a waiter has a place behind more than a thousand others', async () => {
  await other.mutex('k').acquire({ ttl: 60_000 });
  for (let at = 0; at < 1005; at++) {
    const process = new Holdfast(store.inner, { ...SETTINGS, clock });
    process
      .mutex('k')
      .acquire({ fair: true })
      .catch(() => undefined);
  }
  await settle();
  one
    .mutex('k')
    .acquire({ fair: true })
    .catch(() => undefined);
  await settle();
  expect(await one.mutex('k').place()).toBe(1005);
});

it('a forced release tells its reason to more than a hundred holders', async () => {
  const { read } = one.rwLock('r');
  const leases = await Promise.all(Array.from({ length: 150 }, () => read.acquire()));
  await clock.advance(1500);
  const forced = other.forceRelease('r', { reason: 'stuck', wait: 2000 });
  await clock.advance(2000);
  expect(await forced).toEqual({ ended: 150, overlap: 0 });
  for (const { signal } of leases) expect(String(signal.reason)).toContain('stuck');
});

describe('the error of a release', () => {
  it.each([
    ['refused', /the store refused the release of "k"; it is retried: /],
    ['unanswered', /no answer to the release of "k"; it is retried: /],
  ] as const)('names why: the request was %s', async (ail, message) => {
    const lease = await one.mutex('k').acquire();
    if (ail === 'refused') store.ail('release', ail);
    else store.fate = () => 'lost';
    const released = failure(lease.release(), 'HOLDFAST_UNCERTAIN');
    await clock.advance(SETTINGS.unreachableAfter);
    const error = await released;
    expect(error.message).toMatch(message);
    expect(error.cause).toBeInstanceOf(Error);
    store.heal();
  });
});

describe('a wait for a free lock', () => {
  it('goes on after a time without answers', async () => {
    const lease = await other.mutex('k').acquire({ ttl: 60_000 });
    const free = one.mutex('k').whenFree();
    await clock.advance(1000);
    store.fate = () => 'lost';
    await clock.advance(4000);
    store.heal();
    await lease.release();
    await clock.advance(1000);
    expect(await free).toBe(true);
  });

  it('rejects when the store does not answer for longer than unreachableAfter', async () => {
    await other.mutex('k').acquire({ ttl: 60_000 });
    const free = failure(one.mutex('k').whenFree(), 'HOLDFAST_UNREACHABLE');
    await clock.advance(1000);
    store.fate = () => 'lost';
    await clock.advance(6000);
    await free;
  });

  it('does not take an outage at its limit for a lock that is not free', async () => {
    await other.mutex('k').acquire({ ttl: 60_000 });
    store.fate = () => 'lost';
    const free = failure(one.mutex('k').whenFree({ wait: 1000 }), 'HOLDFAST_UNREACHABLE');
    await clock.advance(2000);
    await free;
  });
});
