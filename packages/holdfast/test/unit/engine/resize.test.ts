/** Changes of a resource in use: the weight of a lease, and the capacity. */
import { describe, expect, it } from 'vitest';
import { World } from '../../support/world.js';

const five = { capacity: 5 };
/** A semaphore of one permit. */
const sole = { kind: 'semaphore', capacity: 1 } as const;

describe('a lease', () => {
  it('can lower its weight at once, and the queue is served (I5)', () => {
    const world = new World();
    const { fence } = world.grant('a', { ...five, weight: 5 });
    world.ask('b', { ...five, weight: 2 });
    world.ask('c', { ...five, weight: 2 });
    expect(world.resize('a', 1)).toMatchObject({ status: 'resized', fence });
    expect(world.held()).toEqual(['a', 'b', 'c']);
    expect(world.pushed()).toEqual(['grant b', 'grant c']);
    expect(world.show().used).toBe(5);
  });

  it('can raise its weight if permits are free, with a new fence (I2)', () => {
    const world = new World();
    const first = world.grant('a', five);
    const other = world.grant('b', five);
    const grown = world.resize('a', 4);
    expect(first.fence).toBeLessThan(other.fence);
    expect(grown.status).toBe('resized');
    expect(grown.fence).toBeGreaterThan(other.fence);
    expect(world.show()).toMatchObject({ used: 5, fence: grown.fence });
  });

  it('cannot exceed the free permits, also after the capacity was lowered', () => {
    const world = new World();
    const { fence } = world.grant('a', five);
    world.grant('b', five);
    expect(world.resize('a', 5)).toMatchObject({ status: 'refused', fence });
    world.setCapacity(5, 1);
    expect(world.resize('a', 2).status).toBe('refused');
    expect(world.show().used).toBe(2);
  });

  it('is changed once by a repeated request (I3)', () => {
    const world = new World();
    world.grant('a', five);
    const grown = world.resize('a', 3, 1);
    expect(world.resize('a', 3, 1)).toEqual(grown);
    world.now += 1000;
    expect(world.resize('a', 3, 1)).toMatchObject({ status: 'resized', fence: grown.fence });
    expect(world.resize('a', 3, 2)).toMatchObject({ status: 'resized', fence: grown.fence });
  });

  it('is not changed back by a late duplicate (I3)', () => {
    const world = new World();
    world.grant('a', { ...five, weight: 5 });
    world.resize('a', 1, 1);
    const again = world.resize('a', 5, 2);
    // The first request once more: it has no effect now.
    expect(world.resize('a', 1, 1)).toMatchObject({ status: 'refused', fence: again.fence });
    expect(world.show().used).toBe(5);
  });

  it('is not changed by a late duplicate of a refused change (I3)', () => {
    const world = new World();
    const { fence } = world.grant('a', five);
    world.grant('b', five);
    expect(world.resize('a', 5, 1).status).toBe('refused');
    world.release('b');
    expect(world.resize('a', 5, 1)).toMatchObject({ status: 'refused', fence });
    expect(world.show().used).toBe(1);
    expect(world.resize('a', 5, 2).status).toBe('resized');
  });

  it('is not changed by the first arrival of a change that was repeated since (I3)', () => {
    const world = new World();
    world.grant('a', { ...five, weight: 5 });
    expect(world.resize('a', 5, 2).status).toBe('resized');
    expect(world.resize('a', 1, 1).status).toBe('refused');
    expect(world.show().used).toBe(5);
  });

  it('keeps its weight while its owner has several holds', () => {
    const world = new World();
    world.grant('a', { ...five, weight: 5, owner: 'me' });
    world.grant('b', { ...five, weight: 5, owner: 'me' });
    expect(world.resize('a', 1, 1).status).toBe('refused');
    world.release('b');
    // A late duplicate: the caller was told that it still has the weight 5.
    expect(world.resize('a', 1, 1).status).toBe('refused');
    expect(world.show().used).toBe(5);
    expect(world.resize('a', 1, 2).status).toBe('resized');
  });

  it('numbers the changes of each hold alone', () => {
    const world = new World();
    world.grant('a', { ...five, weight: 5, owner: 'me' });
    world.grant('b', { ...five, weight: 1, owner: 'me' });
    expect(world.resize('a', 1, 7).status).toBe('refused');
    expect(world.resize('b', 5, 1).status).toBe('resized');
    world.release('a');
    expect(world.resize('b', 5, 1).status).toBe('resized');
    expect(world.resize('b', 1, 2).status).toBe('resized');
    expect(world.resize('b', 5, 1).status).toBe('refused');
    expect(world.show().used).toBe(1);
  });

  it('is not changed after its end', () => {
    const world = new World();
    world.grant('a', { ...five, ttl: 10 });
    world.now += 10_000;
    expect(world.resize('a', 2)).toMatchObject({ status: 'absent', fence: 0 });
    expect(world.resize('unknown', 2).status).toBe('absent');
    expect(new World().resize('a', 2).status).toBe('absent');
  });
});

describe('an owner that asks for more than its lease has', () => {
  it('gets a conflict, does not wait, and keeps its lease', () => {
    const world = new World();
    world.grant('a', { ...five, owner: 'me' });
    expect(world.ask('b', { ...five, owner: 'me', weight: 5 })).toMatchObject({
      ...{ status: 'conflict', weight: 1 },
    });
    expect(world.ask('c', { ...five, owner: 'me', weight: 5, queue: false }).status).toBe(
      'conflict',
    );
    expect(world.held()).toEqual(['a']);
    expect(world.waiting()).toEqual([]);
  });

  it('joins with the same or a lower weight', () => {
    const world = new World();
    world.grant('a', { ...five, owner: 'me', weight: 3 });
    expect(world.grant('b', { ...five, owner: 'me', weight: 3 }).holds).toBe(2);
    expect(world.grant('c', { ...five, owner: 'me' }).holds).toBe(3);
    expect(world.show().used).toBe(3);
  });

  it('does not join from the queue, and blocks no other waiter', () => {
    const world = new World();
    world.grant('x', { ...five, weight: 5 });
    world.ask('reads', { ...five, owner: 'me' });
    world.ask('writes', { ...five, owner: 'me', weight: 5 });
    world.ask('next', five);
    world.release('x');
    expect(world.held()).toEqual(['reads', 'next']);
    expect(world.pushed()).toEqual(['grant reads', 'grant next']);
    expect(world.poll('writes').standings).toEqual([{ status: 'absent' }]);
    expect(world.ask('writes', { ...five, owner: 'me', weight: 5 }).status).toBe('conflict');
  });

  it('gets a conflict in the request that granted its other acquisition', () => {
    const world = new World();
    world.grant('x', { ...five, weight: 5, ttl: 1 });
    world.ask('reads', { ...five, owner: 'me' });
    world.now += 1_000_000;
    const wanted = { ...five, owner: 'me', weight: 5 };
    expect(world.ask('writes', wanted).status).toBe('conflict');
    expect(world.held()).toEqual(['reads']);
  });
});

describe('a capacity', () => {
  it('that is raised admits waiters', () => {
    const world = new World();
    world.grant('a', five);
    world.ask('b', { ...five, weight: 5 });
    expect(world.setCapacity(5, 6)).toMatchObject({ status: 'changed', capacity: 6 });
    expect(world.held()).toEqual(['a', 'b']);
    expect(world.pushed()).toEqual(['grant b']);
  });

  it('that is lowered ends no lease, and admits no waiter until it fits', () => {
    const world = new World();
    for (const id of ['a', 'b', 'c']) world.grant(id, five);
    expect(world.setCapacity(5, 1)).toMatchObject({ status: 'changed', capacity: 1 });
    expect(world.held()).toEqual(['a', 'b', 'c']);
    expect(world.ask('d', sole).status).toBe('queued');
    world.release('a');
    world.release('b');
    expect(world.held()).toEqual(['c']);
    world.release('c');
    expect(world.held()).toEqual(['d']);
  });

  it('must be named by new callers, but not by queued waiters', () => {
    const world = new World();
    world.grant('a', { ...five, weight: 5 });
    world.ask('b', five);
    world.setCapacity(5, 3);
    expect(world.ask('c', five)).toMatchObject({ status: 'mismatch', capacity: 3 });
    expect(world.ask('b', five).status).toBe('queued');
    expect(world.ask('c', { capacity: 3 }).status).toBe('queued');
    world.release('a');
    expect(world.held()).toEqual(['b', 'c']);
  });

  it("that is lower than a waiter's weight drops the waiter, which blocks no other", () => {
    const world = new World();
    world.grant('a', five);
    world.grant('b', five);
    world.ask('big', { ...five, weight: 4 });
    world.ask('next', five);
    world.setCapacity(5, 3);
    expect(world.held()).toEqual(['a', 'b', 'next']);
    expect(world.poll('big', 'next').standings.map(({ status }) => status)).toEqual([
      'absent',
      'granted',
    ]);
    expect(world.ask('big', { ...five, weight: 4 })).toMatchObject({ status: 'mismatch' });
  });

  it('is reported to a returning waiter that is too large at the head', () => {
    const world = new World();
    world.grant('a', five);
    world.grant('b', five);
    world.ask('first', { ...five, weight: 5 });
    world.ask('big', { ...five, weight: 4 });
    world.setCapacity(5, 3);
    expect(world.waiting()).toEqual([]);
    const again = world.ask('big', { ...five, weight: 4, capacity: 3 });
    expect(again).toMatchObject({ status: 'mismatch', capacity: 3 });
    expect(world.waiting()).toEqual([]);
  });

  it('is not changed by a caller that names the wrong `from`', () => {
    const world = new World();
    world.grant('a', five);
    expect(world.setCapacity(4, 9)).toMatchObject({ status: 'mismatch', capacity: 5 });
    expect(world.setCapacity(5, 9)).toMatchObject({ status: 'changed', capacity: 9 });
    expect(world.setCapacity(5, 9)).toMatchObject({ status: 'changed', capacity: 9 });
  });

  it('of an idle key can be changed by any caller', () => {
    const world = new World();
    expect(world.setCapacity(5, 9).status).toBe('absent');
    world.grant('a', five);
    world.release('a');
    expect(world.setCapacity(1, 9)).toMatchObject({ status: 'changed', capacity: 9 });
    expect(world.grant('b', five).status).toBe('granted');
  });

  it('that is raised beside a root grants nothing until the root ends (I2)', () => {
    const world = new World();
    const a = world.grant('a', { ...sole, handOffs: 3 });
    world.ask('b', sole);
    expect(world.setCapacity(1, 2).status).toBe('changed');
    expect(world.ask('c', { capacity: 2, queue: false }).status).toBe('refused');
    expect(world.held()).toEqual(['a']);
    world.ask('c', { capacity: 2 });
    world.turn('a', a.fence, '', { used: a.fence + 24 });
    expect(world.held()).toEqual(['b', 'c']);
    expect(world.show().holders.every(({ fence }) => fence > a.fence + 24)).toBe(true);
  });

  it('that is raised beside a root leaves the weight of the root', () => {
    const world = new World();
    world.grant('a', { ...sole, handOffs: 3 });
    world.setCapacity(1, 2);
    expect(world.resize('a', 2).status).toBe('refused');
  });
});

describe('the kind of a resource', () => {
  it.each([
    ['a mutex', { kind: 'mutex', capacity: 1 }],
    ['a read-write lock', { kind: 'rw-lock', capacity: 2 ** 30 }],
    ['a flight', { kind: 'flight', capacity: 2 ** 20 }],
  ] as const)('%s in use keeps its capacity', (_, used) => {
    const world = new World();
    world.grant('a', used);
    const before = world.show();
    for (const capacity of [1, 2, used.capacity]) {
      expect(world.setCapacity(used.capacity, capacity)).toMatchObject({
        status: 'mismatch',
        ...used,
      });
    }
    expect(world.show()).toEqual(before);
  });

  it('a key in use refuses an acquisition of another kind, with any capacity', () => {
    const world = new World();
    world.grant('a');
    world.ask('b');
    expect(world.ask('c', sole)).toMatchObject({ status: 'mismatch', kind: 'mutex', capacity: 1 });
    expect(world.ask('d', { capacity: 3 })).toMatchObject({ status: 'mismatch', kind: 'mutex' });
    world.release('a');
    world.release('b');
    expect(world.grant('e', sole).status).toBe('granted');
    expect(world.ask('f')).toMatchObject({ status: 'mismatch', kind: 'semaphore', capacity: 1 });
  });

  it('an idle key takes the kind of its next user', () => {
    const world = new World();
    world.grant('a');
    world.release('a');
    expect(world.setCapacity(9, 3)).toMatchObject({ status: 'changed', kind: 'semaphore' });
    world.grant('b');
    expect(world.show()).toMatchObject({ kind: 'mutex', capacity: 1 });
  });

  it('a semaphore of one permit has no condition', () => {
    const world = new World();
    world.grant('a', sole);
    expect(world.park('a', 'b').status).toBe('shared');
    expect(world.signal('a', 1).status).toBe('absent');
  });
});

describe('an inspection', () => {
  it('reads no more leases than it shows', () => {
    const world = new World();
    for (let n = 0; n < 50; n++) world.grant(`a${n}`, { capacity: 100, weight: 2, ttl: 10 + n });
    world.now += 20_000;
    const shown = world.show(3);
    expect(shown).toMatchObject({ used: 78, holderCount: 39, capacity: 100 });
    expect(shown.holders.map(({ id }) => id)).toEqual(['a11', 'a12', 'a13']);
  });
});
