/**
 * Fences that are reserved for hand-offs. They are freed if no hand-off can have used them, so that
 * fences do not run ahead of the clock. They stay reserved if a hand-off may have used one.
 */
import { beforeEach, describe, expect, it } from 'vitest';
import type { Release, Turn } from '../../src/engine/commands.js';
import { Holdfast, HoldfastError, type Lease } from '../../src/index.js';
import { later } from '../suites/helpers.js';
import { settle, VirtualClock } from '../support/virtual-clock.js';
import { WatchedStore } from '../support/watched-store.js';
import { World } from '../support/world.js';

const handOffs = 1000;

describe('reserved fences in the store', () => {
  let world: World;
  beforeEach(() => {
    world = new World();
  });

  const next = (): number => world.grant('next').fence;

  it('are freed when the holder releases and never handed the lease off', () => {
    const { fence } = world.grant('a', { handOffs });
    world.release('a', true);
    expect(next()).toBe(fence + 1);
  });

  it('are freed when the holder is parked', () => {
    const { fence } = world.grant('a', { handOffs });
    world.park('a', 'b');
    expect(next()).toBe(fence + 1);
  });

  it('are freed up to the last one that was used when a task is parked', () => {
    const { fence } = world.grant('a', { handOffs });
    world.park('a', 'b', { used: fence + 3 });
    expect(next()).toBe(fence + 4);
  });

  it('stay when the caller does not know whether the lease was handed off', () => {
    const { fence } = world.grant('a', { handOffs });
    world.release('a');
    expect(next()).toBe(fence + handOffs + 1);
  });

  it('stay after a forced release', () => {
    const { fence } = world.grant('a', { handOffs });
    world.force();
    expect(next()).toBe(fence + handOffs + 1);
  });

  it('stay after an expiry', () => {
    const ttl = 1;
    const { fence } = world.grant('a', { handOffs, ttl });
    // the clock of the server was set back
    world.now += ttl * 1000;
    expect(next()).toBe(Math.max(fence + handOffs + 1, world.now));
  });

  it('of a later lease stay when the release is repeated', () => {
    world.grant('a', { handOffs });
    world.release('a', true);
    const { fence } = world.grant('b', { handOffs });
    expect(world.release('a', true).status).toBe('absent');
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

  it('uses one fence for each lease while there are no waiters', async () => {
    const fences: number[] = [];
    const mutex = holdfast.mutex('k');
    const lock = (): Promise<void> => mutex.run(({ fence }) => void fences.push(fence));
    for (let count = 0; count < 5000; count++) await lock();
    // the record is forgotten, and begins at the clock
    await clock.advance(3001);
    await lock();
    expect(fences.at(-1)).toBeGreaterThan(Math.max(...fences.slice(0, -1)));
  });

  it('names the last fence that it used when a root ends', async () => {
    const [first, second] = await successive();
    expect(second.fence).toBe(first.fence + 1);
    await second.release();
    expect(released(first.id)).toBeUndefined();
    const { fence, used, again } = store.seen('turn')[0] as Turn;
    expect([fence, used, again]).toEqual([first.fence, second.fence, '']);
  });

  it('reports it too for an abandoned acquisition', async () => {
    const holder = await holdfast.mutex('k').acquire();
    const giving = later(holdfast.mutex('k').acquire({ wait: 100, fair: true }));
    await clock.advance(101);
    await expect(giving).rejects.toThrow(HoldfastError);
    await holder.release();
    expect(store.seen('release').map(({ unpassed }) => unpassed)).toEqual([true, true]);
  });

  it('hands no lease off after a request to park: its duplicate may be granted', async () => {
    const mutex = holdfast.mutex('k');
    const parked = await mutex.acquire();
    void later(mutex.condition('c').await(parked));
    await settle();
    const lease = await mutex.acquire();
    await expect(mutex.condition('c').await(lease)).rejects.toThrow(HoldfastError);
    const waiting = mutex.acquire();
    await settle();
    await lease.release();
    const next = await waiting;
    expect(next.id).not.toContain('/');
    expect(store.seen('turn').at(-1)).toMatchObject({ id: lease.id, again: next.id });
  });
});
