/** `close` keeps no reference to an object that ended, even if the user does not end it. */
import { beforeEach, expect, it } from 'vitest';
import { Holdfast } from '../../src/index.js';
import { later } from '../suites/helpers.js';
import { VirtualClock } from '../support/virtual-clock.js';
import { WatchedStore } from '../support/watched-store.js';

let clock: VirtualClock;
let store: WatchedStore;
let holdfast: Holdfast;
const closers = (): number => holdfast.mutex('any').acquirer.core.closers;

beforeEach(() => {
  clock = new VirtualClock();
  store = new WatchedStore(clock);
  holdfast = new Holdfast(store, { clock, ttl: 1000 });
});

it('a lost term that was never resigned leaves no entry', async () => {
  for (let term = 0; term < 50; term++) {
    const campaigning = holdfast.election('k').campaign();
    await clock.advance(10);
    const leadership = await campaigning;
    expect(closers()).toBe(1);
    const forcing = holdfast.forceRelease('k');
    await clock.advance(1500);
    await forcing;
    expect(leadership.leads).toBe(false);
    expect(leadership.signal.aborted).toBe(true);
    expect(closers()).toBe(0);
  }
});

it('a term that expired while the store was silent leaves no entry', async () => {
  const campaigning = holdfast.election('k').campaign();
  await clock.advance(10);
  await campaigning;
  store.fate = () => 'lost';
  await clock.advance(5000);
  expect(closers()).toBe(0);
});

it('a resigned term leaves no entry', async () => {
  const campaigning = holdfast.election('k').campaign();
  await clock.advance(10);
  const resigning = (await campaigning).resign();
  await clock.advance(10);
  await resigning;
  expect(closers()).toBe(0);
});

it('a term that is lost before the work of `lead` ends leaves no entry of its own', async () => {
  const stop = new AbortController();
  const leading = later(holdfast.election('k').lead(() => undefined, { signal: stop.signal }));
  await clock.advance(2000);
  // The entries of `lead` itself and of the current term.
  expect(closers()).toBeLessThanOrEqual(2);
  stop.abort();
  await clock.advance(100);
  await leading;
  expect(closers()).toBe(0);
});

it('a lease kept after its run leaves no entry after its end', async () => {
  const running = holdfast.schedule('k', { atLeast: 2000 }).runOnce(() => 1);
  await clock.advance(10);
  await running;
  expect(closers()).toBe(1);
  await clock.advance(5000);
  expect(closers()).toBe(0);
});
