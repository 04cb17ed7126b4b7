/** Conditions in the engine, one example each. */
import { describe, expect, it } from 'vitest';
import { SIGNAL_LIMIT } from '../../../src/engine/limits.js';
import { World } from '../../support/world.js';

/** A world with several parked waiters and the holder `s`. */
function parked(...ids: string[]): World {
  const world = new World();
  for (const id of ids) {
    world.grant(`before ${id}`);
    expect(world.park(`before ${id}`, id)).toEqual({ status: 'parked', now: world.now });
    world.now += 1;
  }
  world.grant('s');
  world.pushed();
  return world;
}

describe('parking', () => {
  it('releases the lease and serves the queue in the same step', () => {
    const world = new World();
    world.grant('a');
    world.ask('b');
    expect(world.park('a', 'A').status).toBe('parked');
    expect(world.held()).toEqual(['b']);
    expect(world.waiting()).toEqual([]);
    expect(world.show()).toMatchObject({ parkedCount: 1, parked: [{ id: 'A', condition: 'c' }] });
  });

  it('does not block other waiters', () => {
    const world = parked('A');
    world.release('s');
    world.grant('t');
    expect(world.release('t').status).toBe('freed');
    expect(world.parked()).toEqual(['A']);
  });

  it('reports its state when repeated, and releases no other lease', () => {
    const world = parked('A');
    const again = (): unknown => world.park('before A', 'A').status;
    expect(again()).toBe('parked');
    world.signal('s', 1);
    expect(world.park('before A', 'A')).toMatchObject({ status: 'queued', signalled: true });
    world.release('s');
    expect(world.park('before A', 'A')).toMatchObject({ status: 'granted', signalled: true });
    world.release('A');
    expect(again()).toBe('absent');
  });

  it('does nothing for an id without a lease', () => {
    const world = new World();
    expect(world.park('a', 'A').status).toBe('absent');
    world.grant('a', { ttl: 10 });
    world.now += 10_000;
    expect(world.park('a', 'A').status).toBe('absent');
    expect(world.parked()).toEqual([]);
  });

  it('is refused for a lease with several holds, and for several holders', () => {
    const world = new World();
    world.grant('a', { owner: 'o' });
    world.grant('b', { owner: 'o' });
    expect(world.park('a', 'A')).toMatchObject({ status: 'shared', holds: 2 });
    world.release('b');
    expect(world.park('a', 'A').status).toBe('parked');
    const many = new World();
    many.grant('a', { capacity: 2 });
    expect(many.park('a', 'A')).toMatchObject({ status: 'shared', holds: 1 });
  });

  it('is refused above the limit of parked waiters, and the lease is kept', () => {
    const world = parked('A');
    expect(world.park('s', 'S', { maxParked: 1 })).toMatchObject({ status: 'full', length: 1 });
    expect(world.held()).toEqual(['s']);
    expect(world.park('s', 'S', { maxParked: 1, want: 'permits' }).status).toBe('granted');
  });

  it('keeps the owner, which may have acquired the lock again meanwhile', () => {
    const world = new World();
    world.grant('a', { owner: 'o' });
    world.park('a', 'A');
    world.grant('s', { owner: 'o' });
    world.signal('s', 1);
    expect(world.poll('A').standings).toMatchObject([{ status: 'granted', holds: 2 }]);
  });

  it('does not let the capacity change', () => {
    const world = parked('A');
    world.release('s');
    expect(world.ask('b', { capacity: 2 }).status).toBe('mismatch');
  });

  it('ends if it was not polled for a retention', () => {
    const world = parked('A', 'B');
    for (let second = 0; second < 59; second++) {
      world.now += 1_000_000;
      world.renew('s', 100_000);
      world.poll('B');
    }
    expect(world.parked()).toEqual(['A', 'B']);
    world.now += 1_000_000;
    world.renew('s', 100_000);
    expect(world.parked()).toEqual(['B']);
  });
});

describe('a signal', () => {
  it('moves the first parked waiter to the end of the queue, and notifies it', () => {
    const world = parked('A', 'B');
    world.ask('q');
    expect(world.signal('s', 1)).toMatchObject({ status: 'signalled', woken: 1, left: 1 });
    expect(world.waiting()).toEqual(['q', 'A']);
    expect(world.pushed()).toEqual(['signal A']);
    expect(world.parked()).toEqual(['B']);
  });

  it('to all moves all waiters of its condition, in parking order', () => {
    const world = parked('A', 'B');
    world.park('s', 'other', { condition: 'd' });
    world.grant('t');
    expect(world.signal('t', 1, { count: 0 })).toMatchObject({ woken: 2, left: 0 });
    expect(world.waiting()).toEqual(['A', 'B']);
    expect(world.parked()).toEqual(['other']);
  });

  it('to all wakes up to the limit of one command', () => {
    const ids = Array.from({ length: SIGNAL_LIMIT + 2 }, (_, index) => `p${index}`);
    const world = new World();
    for (const id of ids) {
      world.grant(`before ${id}`);
      world.park(`before ${id}`, id, { maxParked: 5000 });
    }
    world.grant('s');
    const all = { count: 0 };
    expect(world.signal('s', 1, all)).toMatchObject({ woken: SIGNAL_LIMIT, left: 2 });
    expect(world.signal('s', 2, all)).toMatchObject({ woken: 2, left: 0 });
  });

  it('repeated or late wakes no waiter', () => {
    const world = parked('A', 'B', 'C');
    const first = world.signal('s', 2);
    expect(world.signal('s', 2)).toEqual(first);
    expect(world.signal('s', 1)).toMatchObject({ woken: 0 });
    expect(world.parked()).toEqual(['B', 'C']);
  });

  it('of an id without a lease is refused', () => {
    const world = parked('A');
    world.ask('q');
    expect(world.signal('q', 1).status).toBe('absent');
    expect(world.signal('A', 1).status).toBe('absent');
    expect(new World().signal('s', 1).status).toBe('absent');
    expect(world.parked()).toEqual(['A']);
  });

  it('skips dead waiters', () => {
    const world = parked('A', 'B', 'C');
    world.dead.add('to A').add('to B');
    expect(world.signal('s', 1)).toMatchObject({ woken: 1, left: 0 });
    expect(world.waiting()).toEqual(['C']);
  });

  it('also wakes a waiter without a channel', () => {
    const world = new World();
    world.grant('a');
    world.park('a', 'A', { channel: '' });
    world.grant('s');
    world.signal('s', 1);
    world.release('s');
    expect(world.held()).toEqual(['A']);
  });
});

describe('a signal is not lost', () => {
  /** `a` was signalled, `b` is parked behind it, and `s` holds. */
  const signalled = (): World => {
    const world = parked('A', 'B');
    world.signal('s', 1);
    return world;
  };

  it('if the waiter died in the queue', () => {
    const world = signalled();
    world.dead.add('to A');
    world.release('s');
    expect(world.held()).toEqual(['B']);
  });

  it('if the waiter abandoned its acquisition', () => {
    const world = signalled();
    world.park('before A', 'A', { want: 'nothing' });
    expect(world.waiting()).toEqual(['B']);
  });

  it('if the waiter was withdrawn', () => {
    const world = signalled();
    expect(world.release('A').status).toBe('dequeued');
    expect(world.waiting()).toEqual(['B']);
  });

  it('if the granted acquisition was abandoned', () => {
    const world = signalled();
    world.release('s');
    expect(world.held()).toEqual(['A']);
    world.park('before A', 'A', { want: 'nothing' });
    expect(world.held()).toEqual(['B']);
  });

  it('if the holder crashed', () => {
    const world = signalled();
    world.release('s');
    world.now += 1_000_000;
    world.poll();
    expect(world.held()).toEqual(['B']);
  });

  it('if the holder crashed, and a newcomer arrives then', () => {
    const world = signalled();
    world.release('s');
    world.now += 1_000_000;
    expect(world.ask('newcomer').status).toBe('queued');
    expect(world.held()).toEqual(['B']);
  });

  it('if the holder was released by force', () => {
    const world = signalled();
    world.release('s');
    world.force();
    expect(world.held()).toEqual(['B']);
  });

  it('but is consumed when its holder releases or parks again', () => {
    const world = signalled();
    world.release('s');
    world.release('A');
    expect(world.parked()).toEqual(['B']);
    const other = signalled();
    other.release('s');
    other.park('A', 'again');
    expect(other.parked().sort()).toEqual(['B', 'again']);
  });

  it('when it arrives after the wait ended: it goes to another waiter', () => {
    const world = parked('A', 'B');
    expect(world.park('before A', 'A', { want: 'permits' })).toMatchObject({
      status: 'queued',
      signalled: false,
    });
    expect(world.signal('s', 1)).toMatchObject({ woken: 1 });
    expect(world.waiting()).toEqual(['A', 'B']);
    world.release('A');
    expect(world.waiting()).toEqual(['B']);
  });

  it('when it arrives before the wait ends: the waiter takes it', () => {
    const world = parked('A');
    world.signal('s', 1);
    const back = world.park('before A', 'A', { want: 'permits' });
    expect(back).toMatchObject({ status: 'queued', signalled: true });
  });
});
