/**
 * Fences that are reserved for passes: they go back when it is known that no pass used them, so
 * that fences do not run ahead of the clock; and they stay reserved when a pass may have used one.
 */
import { beforeEach, describe, expect, it } from 'vitest';
import type { Release } from '../../src/engine/commands.js';
import { Holdfast, HoldfastError, type Lease } from '../../src/index.js';
import { later } from '../suites/helpers.js';
import { settle, VirtualClock } from '../support/virtual-clock.js';
import { WatchedStore } from '../support/watched-store.js';
import { World } from '../support/world.js';

const handOffs = 1000;

describe('in the store they', () => {
  let world: World;
  beforeEach(() => {
    world = new World();
  });

  const next = (): number => world.grant('next').fence;

  it('go back when the holder releases and never passed the lease on', () => {
    const { fence } = world.grant('a', { handOffs });
    world.release('a', '', true);
    expect(next()).toBe(fence + 1);
  });

  it('go back up to the last pass', () => {
    const { fence } = world.grant('a', { handOffs });
    world.ask('b');
    world.release('a', 'b');
    world.release('b', '', true);
    expect(next()).toBe(fence + 2);
  });

  it('go back when the holder is parked', () => {
    const { fence } = world.grant('a', { handOffs });
    world.park('a', 'b');
    expect(next()).toBe(fence + 1);
  });

  it('stay when the caller does not know whether the lease was passed on', () => {
    const { fence } = world.grant('a', { handOffs });
    world.release('a');
    expect(next()).toBe(fence + handOffs + 1);
  });

  it('stay when the store refuses a pass: the successor may have used one', () => {
    const { fence } = world.grant('a', { handOffs });
    world.ask('b', { owner: 'me' });
    expect(world.release('a', 'b').status).toBe('freed');
    world.release('b', '', true);
    expect(next()).toBeGreaterThan(fence + handOffs);
  });

  it('stay over a forced release', () => {
    const { fence } = world.grant('a', { handOffs });
    world.force();
    expect(next()).toBe(fence + handOffs + 1);
  });

  it('stay over an expiry', () => {
    const ttl = 1;
    const { fence } = world.grant('a', { handOffs: 5000, ttl });
    world.now += ttl * 1000;
    expect(next()).toBe(fence + 5001);
  });

  it('of a later lease stay, when the release comes once more', () => {
    world.grant('a', { handOffs });
    world.release('a', '', true);
    const { fence } = world.grant('b', { handOffs });
    expect(world.release('a', '', true).status).toBe('absent');
    world.force();
    expect(next()).toBe(fence + handOffs + 1);
  });
});

describe('a process', () => {
  const clock = new VirtualClock();
  let store: WatchedStore;
  let holdfast: Holdfast;
  beforeEach(() => {
    store = new WatchedStore(clock);
    const options = { clock, ttl: 3000, localHandOffs: handOffs, retention: 3000, maxQueue: 1 };
    holdfast = new Holdfast(store, options);
  });

  const released = (id: string): Release | undefined =>
    store.seen('release').find((command) => command.id === id);

  async function successive(): Promise<readonly [Lease, Lease]> {
    const first = await holdfast.mutex('k').acquire();
    const second = holdfast.mutex('k').acquire();
    await settle();
    void first.release();
    return [first, await second];
  }

  it('uses as many fences as it has leases, when none waits', async () => {
    const fences: number[] = [];
    const mutex = holdfast.mutex('k');
    const lock = (): Promise<void> => mutex.run(({ fence }) => void fences.push(fence));
    for (let count = 0; count < 5000; count++) await lock();
    // the record is forgotten, and begins at the clock
    await clock.advance(3001);
    await lock();
    expect(fences.at(-1)).toBeGreaterThan(Math.max(...fences.slice(0, -1)));
  });

  it('says of a lease that it passed on that it did, and of its heir that it did not', async () => {
    const [first, second] = await successive();
    await second.release();
    expect(released(first.id)).toMatchObject({ to: second.id, unpassed: false });
    expect(released(second.id)).toMatchObject({ to: '', unpassed: true });
  });

  it('says so too of an acquisition that was given up', async () => {
    const holder = await holdfast.mutex('k').acquire();
    const giving = later(holdfast.mutex('k').acquire({ wait: 100 }));
    await clock.advance(101);
    await expect(giving).rejects.toThrow(HoldfastError);
    await holder.release();
    expect(store.seen('release').map(({ unpassed }) => unpassed)).toEqual([true, true]);
  });

  it('does not say so when the lease was passed on and the store did not answer', async () => {
    const [first, second] = [await holdfast.mutex('k').acquire(), holdfast.mutex('k').acquire()];
    await settle();
    store.ail('release', 'lost');
    void later(first.release());
    const successorRecord = await second;
    // the store never heard of the heir; what repeats the release may find the first lease
    await clock.advance(20_000);
    expect(successorRecord.held).toBe(false);
    const repeated = store.seen('release').filter(({ id }) => id === first.id);
    expect(repeated.length).toBeGreaterThan(1);
    expect(repeated.filter(({ unpassed }) => unpassed === true)).toEqual([]);
  });

  it('passes no lease on that asked to be parked: a duplicate of that may be granted', async () => {
    const mutex = holdfast.mutex('k');
    const parked = await mutex.acquire();
    void later(mutex.condition('c').await(parked));
    await settle();
    const lease = await mutex.acquire();
    await expect(mutex.condition('c').await(lease)).rejects.toThrow(HoldfastError);
    const waiting = mutex.acquire();
    await settle();
    await lease.release();
    await waiting;
    expect(released(lease.id)).toMatchObject({ to: '' });
  });
});
