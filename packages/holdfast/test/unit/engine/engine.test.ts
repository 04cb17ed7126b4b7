/**
 * What the engine promises, one example each. The names I1 to I6 are the invariants that the
 * engine's files speak of; `engine.property.test.ts` asserts them over random traffic.
 */
import { describe, expect, it } from 'vitest';
import { World } from '../../support/world.js';

describe('I1 exclusion', () => {
  it('a mutex has one holder', () => {
    const world = new World();
    expect(world.ask('a')).toMatchObject({ status: 'granted', left: 10_000_000, holds: 1 });
    expect(world.ask('b')).toMatchObject({ status: 'queued', next: 10_000_000 });
    expect(world.held()).toEqual(['a']);
  });

  it('weights never add up to more than the capacity', () => {
    const world = new World();
    expect(world.ask('a', { capacity: 3, weight: 2 }).status).toBe('granted');
    expect(world.ask('b', { capacity: 3, weight: 2 }).status).toBe('queued');
    expect(world.show()).toMatchObject({ used: 2, capacity: 3 });
  });

  it('a lease ends at its expiry, not a microsecond before', () => {
    const world = new World();
    world.ask('a', { ttl: 5 });
    world.now += 4999;
    expect(world.ask('b', { queue: false })).toMatchObject({ status: 'refused', next: 1 });
    world.now += 1;
    expect(world.ask('b', { queue: false }).status).toBe('granted');
  });

  it('who asks with another capacity is refused while the key is in use', () => {
    const world = new World();
    world.ask('a', { capacity: 1 });
    expect(world.ask('b', { capacity: 3 })).toMatchObject({ status: 'mismatch', capacity: 1 });
    world.release('a');
    expect(world.ask('b', { capacity: 3 }).status).toBe('granted');
  });
});

describe('I2 fences grow', () => {
  it.each([
    ['a release', (world: World) => void world.release('a')],
    ['an expiry', (world: World) => void (world.now += 10_000_000)],
    ['a forced release', (world: World) => void world.force()],
    [
      'a clock that steps back',
      (world: World) => {
        world.now -= 30_000_000;
        world.release('a');
      },
    ],
    ['a resource that was forgotten', (world: World) => void (world.now += 1e9)],
    [
      'a store that lost everything',
      (world: World) => {
        world.lose();
        world.now += 1;
      },
    ],
  ])('across %s', (_, event) => {
    const world = new World();
    const first = world.grant('a');
    event(world);
    expect(world.grant('b').fence).toBeGreaterThan(first.fence);
  });

  it('and stay in the same microsecond, above the fences that passes have reserved', () => {
    const world = new World();
    const first = world.grant('a', { handOffs: 8 });
    world.release('a');
    expect(world.grant('b').fence).toBe(first.fence + 9);
  });

  it('a fence is the time where that is more: it survives the loss of the last one', () => {
    const world = new World();
    expect(world.grant('a').fence).toBe(world.now);
  });

  it('a repeat, a renewal and another hold leave the fence as it is', () => {
    const world = new World();
    const { fence } = world.grant('a', { owner: 'me' });
    world.now += 1000;
    world.renew('a');
    expect(world.grant('a', { owner: 'me' }).fence).toBe(fence);
    expect(world.grant('b', { owner: 'me' }).fence).toBe(fence);
  });
});

describe('I3 repeating changes nothing', () => {
  it('an acquire: the same grant, and the lease is not prolonged', () => {
    const world = new World();
    const first = world.grant('a', { handOffs: 3 });
    world.now += 1000;
    const { now, left } = first;
    expect(world.ask('a', { handOffs: 3 })).toEqual({
      ...first,
      now: now + 1000,
      left: left - 1000,
    });
    expect(world.show()).toMatchObject({ used: 1, holderCount: 1 });
  });

  it('an acquire that waits: the same ticket, one place', () => {
    const world = new World();
    world.ask('a');
    const first = world.ask('b');
    world.now += 1000;
    expect(world.ask('b')).toMatchObject({ status: 'queued', ticket: first.ticket });
    expect(world.waiting()).toEqual(['b']);
  });

  it('a release: the newer lease of the key is not touched', () => {
    const world = new World();
    world.ask('a');
    expect(world.release('a').status).toBe('freed');
    world.ask('b');
    expect(world.release('a').status).toBe('absent');
    expect(world.held()).toEqual(['b']);
  });

  it('a release that passed the lease on says so again', () => {
    const world = new World();
    world.ask('a', { handOffs: 1 });
    world.ask('b');
    expect(world.release('a', 'b').status).toBe('passed');
    expect(world.release('a', 'b').status).toBe('passed');
    expect(world.held()).toEqual(['b']);
  });

  it('a renewal never shortens, and never revives', () => {
    const world = new World();
    world.ask('a', { ttl: 1000 });
    expect(world.renew('a', 10)).toMatchObject({ status: 'renewed', left: 1_000_000 });
    expect(world.renew('a', 2000)).toMatchObject({ status: 'renewed', left: 2_000_000 });
    world.now += 2_000_000;
    expect(world.renew('a', 1000).status).toBe('absent');
    world.ask('b');
    expect(world.renew('a', 1000).status).toBe('absent');
    expect(world.release('a').status).toBe('absent');
    expect(world.held()).toEqual(['b']);
  });

  it('a withdrawal: the place is given up once', () => {
    const world = new World();
    world.ask('a');
    world.ask('b');
    expect(world.release('b').status).toBe('dequeued');
    expect(world.release('b').status).toBe('absent');
    expect(world.waiting()).toEqual([]);
  });
});

describe('owners', () => {
  it('enter again; each hold is released once, and the last frees', () => {
    const world = new World();
    expect(world.grant('a', { owner: 'me' }).holds).toBe(1);
    expect(world.grant('b', { owner: 'me' }).holds).toBe(2);
    expect(world.grant('b', { owner: 'me' }).holds).toBe(2);
    world.ask('x');
    expect(world.release('a')).toMatchObject({ status: 'kept', holds: 1 });
    expect(world.release('a').status).toBe('absent');
    expect(world.release('b').status).toBe('freed');
    expect(world.held()).toEqual(['x']);
  });

  it('enter past the queue, because they hold already', () => {
    const world = new World();
    world.ask('a', { owner: 'me' });
    world.ask('x');
    expect(world.ask('b', { owner: 'me' }).status).toBe('granted');
  });

  it('renew by any of their holds, also by the first after it was released', () => {
    const world = new World();
    world.ask('a', { owner: 'me' });
    world.ask('b', { owner: 'me' });
    world.release('a');
    expect(world.renew('b', 60_000).status).toBe('renewed');
    expect(world.renew('a', 60_000).status).toBe('absent');
  });

  it('that wait join when one of their own is served', () => {
    const world = new World();
    world.ask('x');
    world.ask('a', { owner: 'me' });
    world.ask('b', { owner: 'me' });
    world.release('x');
    expect(world.show().holders).toMatchObject([{ id: 'a', owner: 'me', holds: 2 }]);
    expect(world.pushed()).toEqual(['grant a', 'grant b']);
  });

  it('have one lease: who does not want to wait joins what was served just now', () => {
    const world = new World();
    world.ask('x', { capacity: 3, weight: 3, ttl: 1 });
    world.ask('a', { capacity: 3, owner: 'me' });
    world.now += 1000;
    expect(world.grant('b', { capacity: 3, owner: 'me', queue: false }).holds).toBe(2);
    expect(world.show()).toMatchObject({ used: 1, holderCount: 1 });
  });

  it('never pass a lease on', () => {
    const world = new World();
    world.ask('a', { owner: 'me', handOffs: 3 });
    world.ask('b');
    expect(world.release('a', 'b').status).toBe('freed');
  });

  it('a joined place in the queue makes room for those behind it (I5)', () => {
    const world = new World();
    world.ask('x', { capacity: 4, weight: 1 });
    world.ask('a', { capacity: 4, weight: 2, owner: 'me' });
    world.ask('big', { capacity: 4, weight: 2, owner: 'me too' });
    world.ask('small', { capacity: 4, weight: 1 });
    // the head joins a lease instead of waiting for a place of its own
    expect(world.ask('big', { capacity: 4, weight: 2, owner: 'me' }).status).toBe('granted');
    expect(world.held()).toEqual(['x', 'a', 'small']);
  });
});
