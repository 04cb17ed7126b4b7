/** How an acquisition handles a pushed grant, with a virtual clock. */
import { beforeEach, expect, it } from 'vitest';
import { Holdfast, type Lease } from '../../../src/index.js';
import { VirtualClock } from '../../support/virtual-clock.js';
import { WatchedStore } from '../../support/watched-store.js';

const PATIENT = { claimWindow: 1000, requestTimeout: 200, unreachableAfter: 30_000 };

let clock: VirtualClock;
let store: WatchedStore;
let holder: Lease;
let waited: Lease | undefined;

beforeEach(async () => {
  clock = new VirtualClock();
  store = new WatchedStore(clock);
  waited = undefined;
  const make = (): Holdfast => new Holdfast(store, { clock, ttl: 30_000, ...PATIENT });
  const [one, other] = [make(), make()];
  const held = one.mutex('k').acquire();
  await clock.advance(10);
  holder = await held;
  void other
    .mutex('k')
    .acquire()
    .then((lease) => {
      waited = lease;
    });
  await clock.advance(100);
});

/** The store answers no more requests. The grant is only pushed. */
async function silence(ms: number): Promise<void> {
  store.ail('poll', 'lost');
  store.ail('acquire', 'lost');
  await clock.advance(ms);
  store.heal();
  // Lets the test tell a reply from a push.
  store.ail('poll', 50);
  store.ail('acquire', 50);
  void holder.release();
  await clock.advance(20);
}

it('accepts the grant at once after a recent reply', async () => {
  await silence(500);
  expect(waited?.held).toBe(true);
});

it('verifies the grant first if the last reply is older than two claim windows', async () => {
  await silence(2500);
  expect(waited).toBe(undefined);
  await clock.advance(500);
  expect(waited?.held).toBe(true);
});

it('asks again if an older answer follows a push that was not believed', async () => {
  const third = new Holdfast(store, { clock, ttl: 30_000, ...PATIENT, requestTimeout: 3000 });
  await clock.until(third.warmUp());
  const before = await clock.until(third.mutex('other').acquire());
  const fourth = new Holdfast(store, { clock, ttl: 30_000, ...PATIENT, requestTimeout: 3000 });
  await clock.until(fourth.warmUp());
  store.ail('acquire', 950);
  let found: Lease | undefined;
  void fourth
    .mutex('other')
    .acquire()
    .then((lease) => (found = lease));
  await clock.advance(1);
  store.heal();
  await clock.advance(900);
  // the request was sent almost a claim window ago, and has no answer
  void before.release();
  await clock.advance(40);
  expect(found).toBe(undefined);
  await clock.advance(20);
  expect(found?.held).toBe(true);
});
