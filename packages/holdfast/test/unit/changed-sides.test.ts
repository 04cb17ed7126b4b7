/** Changes of a read-write lock and of a semaphore without an answer, refused, or handed over. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { adopt, handOver } from '../../src/handover.js';
import { Holdfast, type HoldfastOptions, type RwLease } from '../../src/index.js';
import { failure } from '../suites/helpers.js';
import { VirtualClock } from '../support/virtual-clock.js';
import { WatchedStore } from '../support/watched-store.js';

let clock: VirtualClock;
let store: WatchedStore;
let one: Holdfast;
let other: Holdfast;

const open = (options: HoldfastOptions = {}): Holdfast =>
  new Holdfast(store, { clock, requestTimeout: 1000, ...options });

beforeEach(() => {
  clock = new VirtualClock();
  store = new WatchedStore(clock);
  [one, other] = [open(), open()];
});
afterEach(() => {
  store.heal();
});

async function withoutAnswer(change: () => Promise<unknown>): Promise<void> {
  store.ail('resize', 'answer lost');
  const changing = failure(change(), 'HOLDFAST_UNCERTAIN');
  await clock.until(changing);
  store.heal();
}

const moved = async (lease: RwLease): Promise<RwLease> =>
  adopt<RwLease>(other, handOver(one, lease));

describe('a lease of a read-write lock that is handed over', () => {
  it('is a read lease after a downgrade without an answer', async () => {
    const lock = one.rwLock('k');
    const lease = await lock.write.acquire();
    await withoutAnswer(() => lease.downgrade());
    const adopted = await moved(lease);
    expect(adopted.mode).toBe('read');
    const reader = await lock.read.tryAcquire();
    expect(reader?.held).toBe(true);
    expect(await adopted.tryUpgrade()).toBe(false);
  });

  it('can be downgraded after an upgrade without an answer', async () => {
    const lock = one.rwLock('k');
    const lease = await lock.read.acquire();
    await withoutAnswer(() => lease.tryUpgrade());
    const adopted = await moved(lease);
    expect(adopted.mode).toBe('read');
    await adopted.downgrade();
    expect((await lock.read.tryAcquire())?.held).toBe(true);
  });
});

describe('a change that the server refuses', () => {
  it('leaves a writer a writer, and a later downgrade lets readers in', async () => {
    const lock = one.rwLock('k');
    const lease = await lock.write.acquire();
    store.ail('resize', 'refused');
    await failure(lease.downgrade(), 'HOLDFAST_REFUSED');
    expect(lease.mode).toBe('write');
    store.heal();
    await lease.downgrade();
    expect((await lock.read.tryAcquire())?.held).toBe(true);
  });

  it('does not end the doubt about an earlier one', async () => {
    const lock = one.rwLock('k');
    const lease = await lock.read.acquire();
    await withoutAnswer(() => lease.tryUpgrade());
    store.ail('resize', 'refused');
    await failure(lease.tryUpgrade(), 'HOLDFAST_REFUSED');
    store.heal();
    await lease.downgrade();
    expect((await lock.read.tryAcquire())?.held).toBe(true);
  });

  it('leaves a semaphore its permits', async () => {
    const lease = await one.semaphore('s', { permits: 3 }).acquire(3);
    store.ail('resize', 'refused');
    await failure(lease.releasePermits(2), 'HOLDFAST_REFUSED');
    expect(lease.permits).toBe(3);
    store.heal();
    expect(await lease.releasePermits(2)).toBe(1);
  });
});
