/** The holds of an owner: their number, their weights, and the end of all of them. */
import { beforeEach, describe, expect, it } from 'vitest';
import { Holdfast, type Lease } from '../../src/index.js';
import { settle, VirtualClock } from '../support/virtual-clock.js';
import { WatchedStore } from '../support/watched-store.js';
import { HOLD_LIMIT } from '../../src/engine/limits.js';
import { World } from '../support/world.js';

const owner = 'me';
let clock: VirtualClock;
let store: WatchedStore;

beforeEach(() => {
  clock = new VirtualClock();
  store = new WatchedStore(clock);
});

const make = (): Holdfast => new Holdfast(store, { clock, ttl: 9000, claimWindow: 1000 });

describe('a lease knows the number of holds of its owner', () => {
  it('at any time, for the holds of this process', async () => {
    const mutex = make().mutex('k', { sharedBy: owner });
    const holds: number[][] = [];
    const outer = await mutex.acquire();
    const inner = await mutex.acquire();
    const note = (): void => void holds.push([outer.holds, inner.holds]);
    note();
    expect(await inner.release()).toBe('kept');
    note();
    await mutex.run((lease) => {
      expect(lease.holds).toBe(2);
      note();
    });
    note();
    expect(await outer.release()).toBe('freed');
    note();
    expect(holds).toEqual([
      [2, 2],
      [1, 0],
      [2, 0],
      [1, 0],
      [0, 0],
    ]);
  });

  it('and for those of other processes, as of the last reply about the owner', async () => {
    const [here, there] = [
      make().mutex('k', { sharedBy: owner }),
      make().mutex('k', { sharedBy: owner }),
    ];
    const lease = await here.acquire();
    await there.acquire();
    expect(lease.holds).toBe(1);
    const third = await here.acquire();
    expect(lease.holds).toBe(3);
    await third.release();
    expect(lease.holds).toBe(2);
  });

  it('and it is one for a lease without owner, and none after a loss', async () => {
    const holdfast = make();
    const alone = await holdfast.mutex('alone').acquire();
    expect(alone.holds).toBe(1);
    const lost = await holdfast.mutex('k', { sharedBy: owner, renew: false }).acquire();
    await clock.advance(9000);
    expect(lost.held).toBe(false);
    expect(lost.holds).toBe(0);
  });

  it('and holds of the previous lease do not count', async () => {
    const holdfast = make();
    const first = await holdfast.mutex('k', { sharedBy: owner }).acquire();
    await store.inner.execute([{ op: 'forceRelease', key: 'k', id: '', retention: 60_000 }])[0];
    const second = await holdfast.mutex('k', { sharedBy: owner }).acquire();
    await holdfast.mutex('k', { sharedBy: owner }).acquire();
    expect([first.holds, second.holds]).toEqual([1, 2]);
  });
});

describe('a forced release is pushed', () => {
  /** Has a wake channel. */
  async function reachable(): Promise<Holdfast> {
    const holdfast = make();
    const blocker = await holdfast.mutex('other').acquire();
    const waiting = holdfast.mutex('other', { fair: true }).acquire();
    await settle();
    await blocker.release();
    await (await waiting).release();
    return holdfast;
  }

  it('once to each process that the store knows, naming one of its holds', () => {
    const world = new World();
    for (const id of ['a1', 'b1', 'a2', 'c1', 'b2']) {
      world.grant(id, { owner, channel: id.startsWith('c') ? '' : `to ${id[0]}` });
    }
    world.release('a1');
    world.force('b2');
    expect(world.pushed()).toEqual(['revoke b1', 'revoke a2']);
  });

  it('to all holds of all processes with a channel', async () => {
    const all = [await reachable(), await reachable()];
    const leases: Lease[] = [];
    for (const holdfast of [...all, ...all]) {
      leases.push(await holdfast.mutex('k', { sharedBy: owner }).acquire());
    }
    const stranger = await (all[0] as Holdfast).mutex('else', { sharedBy: owner }).acquire();
    await make().forceRelease('k');
    await settle();
    expect(leases.map(({ signal }) => signal.aborted)).toEqual([true, true, true, true]);
    expect(stranger.held).toBe(true);
  });

  it('also if the named hold is being released', async () => {
    const holdfast = await reachable();
    const [named, other] = [
      await holdfast.mutex('k', { sharedBy: owner }).acquire(),
      await holdfast.mutex('k', { sharedBy: owner }).acquire(),
    ];
    store.ail('release', 'failed');
    const releasing = named.release();
    await make().forceRelease('k');
    await settle();
    expect(other.held).toBe(true);
    store.heal();
    await clock.advance(100);
    await releasing;
    expect(other.signal.aborted).toBe(true);
  });
});

describe('a lease has the weight of its heaviest hold', () => {
  const five = { capacity: 5, owner };

  function weighty(): World {
    const world = new World();
    world.grant('a', { ...five, weight: 5 });
    world.grant('b', { ...five, weight: 2 });
    world.grant('c', { ...five, weight: 3 });
    return world;
  }

  it('and leaves the other permits to others', () => {
    const world = weighty();
    world.ask('x', { capacity: 5, weight: 2 });
    world.ask('y', { capacity: 5, weight: 1 });
    expect(world.release('a')).toMatchObject({ status: 'kept', holds: 2 });
    expect(world.held()).toEqual(['a', 'x']);
    expect(world.release('c').status).toBe('kept');
    expect(world.held()).toEqual(['a', 'x', 'y']);
    expect(world.show().used).toBe(5);
    expect(world.release('b').status).toBe('freed');
    expect(world.show().used).toBe(3);
  });

  it('the release of a lighter hold does not change it', () => {
    const world = weighty();
    world.release('b');
    world.release('c');
    expect(world.show()).toMatchObject({ used: 5, holderCount: 1 });
  });

  it('a hold may take all free permits, and keeps them', () => {
    const world = weighty();
    const { fence } = world.grant('b', five);
    expect(world.resize('b', 5)).toMatchObject({ status: 'resized', fence });
    world.release('a');
    expect(world.show().used).toBe(5);
  });

  it('a resize to the present weight is accepted, and has no effect', () => {
    const world = weighty();
    world.grant('b', five);
    expect(world.resize('b', 2).status).toBe('resized');
    expect(world.show().used).toBe(5);
  });

  it('one of several holds cannot exceed it, nor give permits back', () => {
    const world = weighty();
    world.grant('b', five);
    world.release('a');
    expect(world.resize('b', 4).status).toBe('refused');
    expect(world.resize('c', 1).status).toBe('refused');
    expect(world.show().used).toBe(3);
  });

  it('a further hold may have the same weight, but not more', () => {
    const world = weighty();
    world.release('a');
    expect(world.ask('d', { ...five, weight: 4 })).toMatchObject({ status: 'conflict', weight: 3 });
    expect(world.ask('d', { ...five, weight: 3 }).status).toBe('granted');
    expect(world.show().used).toBe(3);
  });
});

describe('each hold has an end of its own', () => {
  const held = { owner: 'o', capacity: 4 };
  let world: World;
  beforeEach(() => {
    world = new World();
  });

  it('so a sharer that died blocks no other owner beyond its ttl while another one lives', () => {
    world.grant('dead', { ...held, weight: 3, ttl: 1000 });
    world.grant('alive', { ...held, weight: 1, ttl: 1000 });
    world.ask('waits', { capacity: 4, weight: 3 });
    world.now += 900_000;
    expect(world.renew('alive', 1000)).toMatchObject({ status: 'renewed', left: 1_000_000 });
    expect(world.held()).toEqual(['dead']);
    world.now += 100_000;
    // the store says when it must be asked again, and the permits of the dead hold go on
    expect(world.poll('dead', 'alive', 'waits').standings.map(({ status }) => status)).toEqual([
      'absent',
      'granted',
      'granted',
    ]);
    expect(world.show()).toMatchObject({ used: 4, holderCount: 2 });
    expect(world.release('alive')).toMatchObject({ status: 'freed' });
  });

  it('and a lease ends with the last hold, not with the longest one that it had', () => {
    world.grant('short', { ...held, weight: 4, ttl: 1000 });
    world.grant('long', { ...held, weight: 4, ttl: 60_000 });
    expect(world.renew('short', 1000).left).toBe(1_000_000);
    world.release('long');
    expect(world.show().holderCount).toBe(1);
    const { next } = world.ask('waits', { capacity: 4 });
    expect(next).toBe(1_000_000);
    world.now += 1_000_000;
    expect(world.show().holderCount).toBe(0);
    expect(world.poll('waits').standings[0]?.status).toBe('granted');
  });

  it('so holds that are not renewed do not fill a lease without end', () => {
    world.grant('alive', { ...held, ttl: 10_000 });
    for (let n = 1; n < HOLD_LIMIT; n++) world.grant(`left ${n}`, { ...held, ttl: 1000 });
    expect(world.ask('next', held).status).toBe('crowded');
    world.now += 1_000_000;
    expect(world.ask('next', held)).toMatchObject({ status: 'granted', holds: 2 });
  });

  it('and a renewal revives no hold that has ended', () => {
    world.grant('one', { ...held, ttl: 1000 });
    world.grant('other', { ...held, ttl: 5000 });
    world.now += 1_000_000;
    expect(world.renew('one').status).toBe('absent');
    expect(world.renew('other').status).toBe('renewed');
  });
});
