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

describe('the period of polls', () => {
  it('grows with the delay of replies, up to four times', () => {
    const delay = new ReplyDelay();
    expect(delay.period(1000)).toBe(1000);
    for (const ms of [5, 6, 7]) delay.took(ms);
    expect(delay.period(1000)).toBe(1000);
    for (let count = 0; count < 20; count++) delay.took(45);
    expect(delay.period(1000)).toBeGreaterThan(2000);
    for (let count = 0; count < 20; count++) delay.took(500);
    expect(delay.period(1000)).toBe(4000);
  });

  it('is as before from the first fast reply on', () => {
    const delay = new ReplyDelay();
    for (let count = 0; count < 20; count++) delay.took(count < 2 ? 5 : 500);
    expect(delay.period(1000)).toBe(4000);
    delay.took(5);
    expect(delay.period(1000)).toBe(1000);
  });
});
