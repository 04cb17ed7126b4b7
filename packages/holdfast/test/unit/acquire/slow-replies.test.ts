/** A slow store gets no further commands because it is slow. */
import { describe, expect, it } from 'vitest';
import { ReplyDelay } from '../../../src/acquire/reply-delay.js';
import { Holdfast } from '../../../src/index.js';
import { VirtualClock } from '../../support/virtual-clock.js';
import { WatchedStore } from '../../support/watched-store.js';

const SLOW_MS = 200;
/** Longer than the last attempt to release a late duplicate. */
const LATER_MS = 60_000;

/** The releases of one acquisition whose reply was slow; `replaced`: on another connection. */
async function releases({ replaced }: { replaced: boolean }): Promise<number> {
  const clock = new VirtualClock();
  const store = new WatchedStore(clock);
  let connection = 1;
  const told = Object.assign(store, { connection: () => connection });
  const holdfast = new Holdfast(told, { clock });
  const mutex = holdfast.mutex('slow');
  // they show the usual time of a reply
  for (let count = 0; count < 12; count++) await (await mutex.acquire()).release();
  const before = store.seen('release').length;
  store.ail('acquire', SLOW_MS);
  const asked = mutex.acquire();
  await clock.advance(SLOW_MS / 2);
  if (replaced) connection += 1;
  await clock.advance(SLOW_MS);
  await (await asked).release();
  await clock.advance(LATER_MS);
  await holdfast.close();
  return store.seen('release').length - before;
}

describe('a slow reply', () => {
  it('causes no further release while the connection is the same', async () => {
    expect(await releases({ replaced: false })).toBe(1);
  });

  it('causes further ones if the client may have sent the request again', async () => {
    expect(await releases({ replaced: true })).toBeGreaterThan(2);
  });
});

it('a wait limit that passes between two late polls asks once more at once', async () => {
  const clock = new VirtualClock();
  const store = new WatchedStore(clock);
  const options = { clock, claimWindow: 1000 };
  const [other, holdfast] = [new Holdfast(store.inner, options), new Holdfast(store, options)];
  await other.mutex('k').acquire({ ttl: 3_600_000 });
  for (let count = 0; count < 23; count++) {
    // replies become slow, so polls become rare
    store.fate = () => (count < 3 ? 1 : 80);
    await clock.until(holdfast.mutex(`x${count}`).run(() => undefined));
  }
  const start = clock.now();
  const wait = holdfast.mutex('k').acquire({ wait: 4200 });
  await clock.until(wait.catch(() => undefined));
  await expect(wait).rejects.toMatchObject({ code: 'HOLDFAST_TIMEOUT' });
  expect(clock.now() - start).toBeLessThan(4200 + 3 * 80);
});

it('a waiter believes its push, however long it waited', async () => {
  const clock = new VirtualClock();
  const store = new WatchedStore(clock);
  const options = { clock, claimWindow: 1000 };
  const [other, holdfast] = [new Holdfast(store.inner, options), new Holdfast(store, options)];
  for (let count = 0; count < 23; count++) {
    store.fate = () => (count < 3 ? 1 : 80);
    await clock.until(holdfast.mutex(`x${count}`).run(() => undefined));
  }
  await clock.until(holdfast.warmUp());
  const before = store.seen('acquire').length;
  for (let waited = 500; waited <= 4500; waited += 500) {
    const held = await other.mutex('k').acquire();
    const asked = holdfast.mutex('k').acquire();
    await clock.advance(waited);
    await held.release();
    await clock.until(asked.then((lease) => lease.release()));
  }
  expect(store.seen('acquire').length - before).toBe(9);
});

describe('the period of polls', () => {
  it('grows with the delay of replies, up to four times', () => {
    const delay = new ReplyDelay();
    expect(delay.period(1000)).toBe(1000);
    for (const ms of [5, 6, 7]) delay.took(ms, 0);
    expect(delay.period(1000)).toBe(1000);
    for (let count = 0; count < 20; count++) delay.took(45, 0);
    expect(delay.period(1000)).toBeGreaterThan(2000);
    for (let count = 0; count < 20; count++) delay.took(500, 0);
    expect(delay.period(1000)).toBe(4000);
  });

  it('leaves time for the next answer before a push counts no more', () => {
    const delay = new ReplyDelay();
    for (let count = 0; count < 20; count++) delay.took(count < 2 ? 5 : 300, 0);
    expect(delay.period(1000)).toBe(4000);
    expect(delay.period(1000, 2000)).toBeGreaterThan(1300);
    expect(delay.period(1000, 2000)).toBeLessThan(2000 - 2 * 250);
    for (let count = 0; count < 20; count++) delay.took(900, 0);
    expect(delay.period(1000, 2000)).toBe(1000);
  });

  it('is as before from the first fast reply on', () => {
    const delay = new ReplyDelay();
    for (let count = 0; count < 20; count++) delay.took(count < 2 ? 5 : 500, 0);
    expect(delay.period(1000)).toBe(4000);
    delay.took(5, 0);
    expect(delay.period(1000)).toBe(1000);
  });

  it('does not stay long after a fail-over to a server that is further away', () => {
    const delay = new ReplyDelay();
    let now = 0;
    const minutes = (count: number, ms: number): boolean[] =>
      Array.from({ length: count }, () => delay.took(ms, (now += 60_000)));
    minutes(20, 1);
    expect(minutes(5, 80).every(Boolean)).toBe(true);
    expect(delay.period(1000)).toBeGreaterThan(2000);
    minutes(15, 80);
    expect(delay.period(1000)).toBe(1000);
    expect(minutes(1, 80)).toEqual([false]);
  });
});
