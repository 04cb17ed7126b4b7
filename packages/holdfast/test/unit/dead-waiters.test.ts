/**
 * The cost of dead and frozen waiters in the queue when no subscriber count shows that they are
 * dead: without pushes, and with half-open connections. In virtual time.
 */
import { beforeEach, describe, expect, it } from 'vitest';
import { Holdfast, type Lease } from '../../src/index.js';
import { later } from '../suites/helpers.js';
import { VirtualClock } from '../support/virtual-clock.js';
import { WatchedStore } from '../support/watched-store.js';

const options = { ttl: 30_000, claimWindow: 1000, localHandOffs: 0 };
let clock: VirtualClock;
let store: WatchedStore;
let holder: Lease;

beforeEach(async () => {
  clock = new VirtualClock();
  store = new WatchedStore(clock);
  holder = await new Holdfast(store, { ...options, clock }).mutex('k').acquire();
});

interface Waiting {
  lease: Lease | undefined;
}

/** Several processes, each with several waiters. Returns a function that cuts them off. */
async function die(
  processes: number,
  each: number,
  pushes: boolean,
  terms: { renew?: boolean; ttl?: number } = {},
): Promise<() => void> {
  const ways: WatchedStore[] = [];
  for (let n = 0; n < processes; n++) {
    const way = new WatchedStore(clock, store.inner);
    way.pushes = pushes;
    ways.push(way);
    const holdfast = new Holdfast(way, { ...options, clock });
    for (let m = 0; m < each; m++) void later(holdfast.mutex('k').acquire(terms));
  }
  await clock.advance(300);
  return () => {
    for (const way of ways) {
      way.fate = () => 'lost';
      way.deaf = true;
    }
  };
}

async function alive(pushes: boolean): Promise<Waiting> {
  const way = new WatchedStore(clock, store.inner);
  way.pushes = pushes;
  const waiting: Waiting = { lease: undefined };
  void new Holdfast(way, { ...options, clock })
    .mutex('k')
    .acquire()
    .then((lease) => {
      waiting.lease = lease;
    });
  await clock.advance(300);
  return waiting;
}

describe.each([true, false])('with pushes: %s', (pushes) => {
  it('twelve processes that died long ago cause no delay', async () => {
    const kill = await die(12, 1, pushes);
    const waiting = await alive(pushes);
    kill();
    await clock.advance(10_000);
    await holder.release();
    await clock.advance(300);
    expect(waiting.lease?.held).toBe(true);
  });

  it('twelve waiters of one process that just died cause a delay of one claim window', async () => {
    const kill = await die(1, 12, pushes);
    const waiting = await alive(pushes);
    kill();
    await holder.release();
    await clock.advance(1300);
    expect(waiting.lease?.held).toBe(true);
  });

  it('the patience depends on the poll interval, not on the ttl without renewal', async () => {
    const kill = await die(12, 1, pushes, { renew: false, ttl: 25_000 });
    const waiting = await alive(pushes);
    kill();
    await clock.advance(10_000);
    await holder.release();
    await clock.advance(300);
    expect(waiting.lease?.held).toBe(true);
  });

  it('live processes keep their places, however long they wait', async () => {
    const first = await alive(pushes);
    const second = await alive(pushes);
    await clock.advance(60_000);
    expect(holder.held).toBe(true);
    await holder.release();
    await clock.advance(300);
    expect(first.lease?.held).toBe(true);
    await first.lease?.release();
    await clock.advance(300);
    expect(second.lease?.held).toBe(true);
  });

  it('a process that was considered dead by mistake gets its place back', async () => {
    const way = new WatchedStore(clock, store.inner);
    way.pushes = pushes;
    const frozen: Waiting = { lease: undefined };
    const wanted = new Holdfast(way, { ...options, clock, unreachableAfter: 60_000 }).mutex('k');
    void wanted.acquire().then((lease) => {
      frozen.lease = lease;
    });
    await clock.advance(300);
    const waiting = await alive(pushes);
    const last = await alive(pushes);
    way.fate = () => 'lost';
    way.deaf = true;
    await clock.advance(10_000);
    await holder.release();
    await clock.advance(300);
    expect(waiting.lease?.held).toBe(true);
    way.heal();
    way.deaf = false;
    await clock.advance(3000);
    await waiting.lease?.release();
    await clock.advance(300);
    expect(frozen.lease?.held).toBe(true);
    expect(last.lease).toBeUndefined();
  });
});
