/**
 * The guarantees of the engine, one example each. I1 to I6 are the invariants that the engine's
 * files name. `engine.property.test.ts` asserts them under random traffic.
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

  it('the sum of weights never exceeds the capacity', () => {
    const world = new World();
    expect(world.ask('a', { capacity: 3, weight: 2 }).status).toBe('granted');
    expect(world.ask('b', { capacity: 3, weight: 2 }).status).toBe('queued');
    expect(world.show()).toMatchObject({ used: 2, capacity: 3 });
  });

  it('a lease ends at its expiry, not a microsecond earlier', () => {
    const world = new World();
    world.ask('a', { ttl: 5 });
    world.now += 4999;
    expect(world.ask('b', { queue: false })).toMatchObject({ status: 'refused', next: 1 });
    world.now += 1;
    expect(world.ask('b', { queue: false }).status).toBe('granted');
  });

  it('a request with another capacity is refused while the key is in use', () => {
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
      'a store that lost its state',
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

  it('within one microsecond too, above the fences reserved for hand-offs', () => {
    const world = new World();
    const first = world.grant('a', { handOffs: 8 });
    world.release('a');
    expect(world.grant('b').fence).toBe(first.fence + 65);
  });

  it('a fence is at least the time, so it grows even if the last fence is lost', () => {
    const world = new World();
    expect(world.grant('a').fence).toBe(world.now);
  });

  it('a repeat, a renewal and another hold do not change the fence', () => {
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

  it('a release: a newer lease of the key is not touched', () => {
    const world = new World();
    world.ask('a');
    expect(world.release('a').status).toBe('freed');
    world.ask('b');
    expect(world.release('a').status).toBe('absent');
    expect(world.held()).toEqual(['b']);
  });

  it('a renewal never shortens a lease, and never restores an ended one', () => {
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

  it('a withdrawal: the place is removed once', () => {
    const world = new World();
    world.ask('a');
    world.ask('b');
    expect(world.release('b').status).toBe('dequeued');
    expect(world.release('b').status).toBe('absent');
    expect(world.waiting()).toEqual([]);
  });
});

describe('owners', () => {
  it('re-enter; each hold is released once, and the last release frees the lock', () => {
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

  it('re-enter past the queue, because they already hold the lock', () => {
    const world = new World();
    world.ask('a', { owner: 'me' });
    world.ask('x');
    expect(world.ask('b', { owner: 'me' }).status).toBe('granted');
  });

  it('renew with any of their holds, also with the first after its release', () => {
    const world = new World();
    world.ask('a', { owner: 'me' });
    world.ask('b', { owner: 'me' });
    world.release('a');
    expect(world.renew('b', 60_000).status).toBe('renewed');
    expect(world.renew('a', 60_000).status).toBe('absent');
  });

  it('join when one of their own acquisitions is served', () => {
    const world = new World();
    world.ask('x');
    world.ask('a', { owner: 'me' });
    world.ask('b', { owner: 'me' });
    world.release('x');
    expect(world.show().holders).toMatchObject([{ id: 'a', owner: 'me', holds: 2 }]);
    expect(world.pushed()).toEqual(['grant a', 'grant b']);
  });

  it('have one lease: a request that does not wait joins a lease granted just now', () => {
    const world = new World();
    world.ask('x', { capacity: 3, weight: 3, ttl: 1 });
    world.ask('a', { capacity: 3, owner: 'me' });
    world.now += 1000;
    expect(world.grant('b', { capacity: 3, owner: 'me', queue: false }).holds).toBe(2);
    expect(world.show()).toMatchObject({ used: 1, holderCount: 1 });
  });

  it('free a queue position when they join, so that others are served (I5)', () => {
    const world = new World();
    world.ask('x', { capacity: 4, weight: 1 });
    world.ask('a', { capacity: 4, weight: 2, owner: 'me' });
    world.ask('big', { capacity: 4, weight: 2, owner: 'me too' });
    world.ask('small', { capacity: 4, weight: 1 });
    // The head joins a lease instead of waiting for its own.
    expect(world.ask('big', { capacity: 4, weight: 2, owner: 'me' }).status).toBe('granted');
    expect(world.held()).toEqual(['x', 'a', 'small']);
  });
});
