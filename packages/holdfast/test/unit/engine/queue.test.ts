/** How the engine serves its queue, one example each. */
import { describe, expect, it } from 'vitest';
import { FORCE_LIMIT, SERVE_LIMIT } from '../../../src/engine/limits.js';
import { World } from '../../support/world.js';

const three = { capacity: 3 };

describe('I4 order', () => {
  it('is the order of arrival', () => {
    const world = new World();
    for (const id of ['d', 'c', 'b', 'a']) {
      world.ask(id);
      world.now += 1;
    }
    const grants = ['d'];
    for (const id of ['d', 'c', 'b']) {
      world.release(id);
      grants.push(...world.held());
    }
    expect(grants).toEqual(['d', 'c', 'b', 'a']);
  });

  it('small waiters that fit do not starve a large head', () => {
    const world = new World();
    world.ask('a', three);
    world.ask('b', three);
    expect(world.ask('large', { ...three, weight: 3 }).status).toBe('queued');
    expect(world.ask('small', three).status).toBe('queued');
    world.release('a');
    expect(world.held()).toEqual(['b']);
    world.release('b');
    expect(world.held()).toEqual(['large']);
    world.release('large');
    expect(world.held()).toEqual(['small']);
  });

  it('a newcomer never overtakes the queue, even without waiting', () => {
    const world = new World();
    world.ask('a', three);
    world.ask('large', { ...three, weight: 3 });
    expect(world.ask('small', { ...three, queue: false }).status).toBe('refused');
  });

  it('a ticket restores its place', () => {
    const world = new World();
    world.ask('a');
    const { ticket } = world.ask('b');
    world.now += 1;
    world.ask('c');
    world.release('b');
    expect(world.waiting()).toEqual(['c']);
    expect(world.ask('b', { ticket: ticket as number }).ticket).toBe(ticket);
    expect(world.waiting()).toEqual(['b', 'c']);
  });

  it('tickets grow even if the clock does not', () => {
    const world = new World();
    world.ask('a');
    const first = world.ask('z').ticket as number;
    world.now -= 5000;
    expect(world.ask('b').ticket).toBe(first + 1);
    expect(world.waiting()).toEqual(['z', 'b']);
  });

  it('a root has eight times as many hand-offs if no other waits, up to 128', () => {
    const world = new World();
    const { fence, handOffs } = world.grant('a', { handOffs: 8 });
    expect(handOffs).toBe(64);
    expect(world.show().fence).toBe(fence + 64);
    world.ask('b', { handOffs: 8 });
    world.ask('c', { handOffs: 8 });
    world.release('a');
    expect(world.ask('b').handOffs).toBe(8);
    world.release('b');
    expect(world.ask('c').handOffs).toBe(64);
    world.release('c');
    expect(world.grant('d', { handOffs: 64 }).handOffs).toBe(128);
    world.release('d');
    expect(world.grant('e', { handOffs: 1000 }).handOffs).toBe(1000);
  });

  it('a hand-off never overtakes a fair waiter, and a fair root has its own hand-offs', () => {
    const world = new World();
    world.ask('a', { handOffs: 8 });
    world.ask('b', { handOffs: 8 });
    world.ask('fair', { fair: true, handOffs: 8 });
    world.release('a');
    expect(world.ask('b').handOffs).toBe(0);
    world.release('b');
    expect(world.ask('fair').handOffs).toBe(8);
    world.release('fair');
    expect(world.grant('alone', { fair: true, handOffs: 8 }).handOffs).toBe(8);
    world.release('alone');
    expect(world.grant('c', { handOffs: 8 }).handOffs).toBe(64);
  });
});

describe('I5 no lost wake-up', () => {
  const events: [string, (world: World) => unknown][] = [
    ['release', (world) => world.release('a')],
    ['forced release', (world) => world.force('a')],
    ['poll after an expiry', (world) => ((world.now += 10_000_000), world.poll())],
    ['renewal after an expiry', (world) => ((world.now += 10_000_000), world.renew('a'))],
    ['withdrawal after an expiry', (world) => ((world.now += 10_000_000), world.release('x'))],
    ['newcomer after an expiry', (world) => ((world.now += 10_000_000), world.ask('late'))],
    [
      'newcomer with another capacity after an expiry',
      (world) => ((world.now += 10_000_000), world.ask('late', three)),
    ],
  ];
  it.each(events)('a %s serves the queue, from any caller', (_, event) => {
    const world = new World();
    world.ask('a');
    world.ask('b');
    event(world);
    expect(world.held()).toEqual(['b']);
    expect(world.pushed()).toContain('grant b');
  });

  it('a head that withdraws makes room for waiters that fit', () => {
    const world = new World();
    world.ask('a', three);
    world.ask('large', { ...three, weight: 3 });
    world.ask('small', three);
    world.release('large');
    expect(world.held()).toEqual(['a', 'small']);
  });

  it('a repeated acquire serves the queue after another lease expired', () => {
    const world = new World();
    world.ask('a', { ...three, weight: 2 });
    world.ask('b', { ...three, ttl: 1 });
    world.ask('c', three);
    world.now += 1000;
    expect(world.ask('a', { ...three, weight: 2 }).status).toBe('granted');
    expect(world.held()).toEqual(['a', 'c']);
  });

  it('dead waiters are skipped at once, and get their place back if they return', () => {
    const world = new World();
    world.ask('a');
    const { ticket } = world.ask('dead');
    world.now += 1;
    world.ask('b');
    world.ask('c');
    world.dead.add('to dead');
    world.release('a');
    expect(world.held()).toEqual(['b']);
    world.dead.clear();
    world.ask('dead', { ticket: ticket as number });
    expect(world.waiting()).toEqual(['dead', 'c']);
  });

  it('a waiter without a channel is granted in turn, and finds its grant by polling', () => {
    const world = new World();
    world.ask('a');
    world.ask('b', { channel: '' });
    world.release('a');
    expect(world.pushed()).toEqual([]);
    expect(world.poll('b', 'a').standings).toMatchObject([
      { status: 'granted', left: 1_000_000 },
      { status: 'absent' },
    ]);
  });

  it('a pushed grant lasts one claim window; a grant in a reply lasts the whole ttl', () => {
    const world = new World();
    world.ask('a');
    world.ask('b');
    world.ask('c');
    world.release('a');
    expect(world.show().holders).toMatchObject([{ id: 'b', left: 1_000_000 }]);
    world.now += 1_000_000;
    expect(world.ask('c')).toMatchObject({ status: 'granted', left: 10_000_000 });
  });

  it('the next command serves the waiters that one command left', () => {
    const world = new World();
    const maxQueue = 2 * SERVE_LIMIT;
    world.ask('a');
    for (let n = 0; n < SERVE_LIMIT + 5; n++) world.ask(`d${n}`, { channel: 'dead', maxQueue });
    world.ask('alive', { maxQueue });
    world.dead.add('dead');
    world.release('a');
    expect(world.waiting()).toHaveLength(6);
    world.poll();
    expect(world.held()).toEqual(['alive']);
  });

  it('an expired lease beyond the limit of one command counts once when it asks again', () => {
    const world = new World();
    const many = { capacity: 5000, ttl: 1 };
    for (let n = 0; n < 2500; n++) world.ask(`m${n}`, many);
    world.now += 1000;
    world.ask('m999', { ...many, ttl: 60_000 });
    world.ask('m2499', { ...many, ttl: 60_000 });
    world.poll();
    world.poll();
    expect(world.engine.resource('k')).toMatchObject({ used: 2, capacity: 5000 });
  });
});

describe('I6 no ghost lease', () => {
  it('a withdrawn acquisition has no lease and no place', () => {
    const world = new World();
    world.ask('a');
    world.ask('b', { fair: true });
    world.release('b');
    world.release('a');
    expect(world.held()).toEqual([]);
    expect(world.engine.resource('k')).toMatchObject({ used: 0, fairWaiting: 0, latest: 0 });
  });

  it('an acquisition withdrawn while its grant is under way frees it for the next waiter', () => {
    const world = new World();
    world.ask('a');
    world.ask('b');
    world.ask('c');
    world.release('a');
    expect(world.release('b').status).toBe('freed');
    expect(world.held()).toEqual(['c']);
  });
});

describe('limits', () => {
  it('a full queue refuses newcomers, but not returning waiters', () => {
    const world = new World();
    world.ask('a');
    const { ticket } = world.ask('b', { maxQueue: 2 });
    world.ask('c', { maxQueue: 2 });
    expect(world.ask('d', { maxQueue: 2 })).toMatchObject({ status: 'full', length: 2 });
    expect(world.ask('b', { maxQueue: 2 }).status).toBe('queued');
    world.release('b');
    world.ask('d', { maxQueue: 2 });
    expect(world.ask('b', { maxQueue: 2, ticket: ticket as number }).status).toBe('queued');
  });

  it('a forced release ends leases, notifies their holders, and serves the queue', () => {
    const world = new World();
    world.ask('a', three);
    world.ask('b', three);
    world.ask('quiet', { ...three, channel: '' });
    world.ask('next', { ...three, weight: 3 });
    expect(world.force('b').ended).toHaveLength(1);
    expect(world.force('b').ended).toHaveLength(0);
    expect(world.pushed()).toEqual(['revoke b']);
    expect(world.force().ended).toHaveLength(2);
    expect(world.pushed()).toEqual(['revoke a', 'grant next']);
  });

  it('a forced release ends a limited number of leases, and reports that more may remain', () => {
    const world = new World();
    for (let n = 0; n < FORCE_LIMIT + 1; n++) world.ask(`m${n}`, { capacity: 5000 });
    expect(world.force().ended).toHaveLength(FORCE_LIMIT);
    expect(world.force().ended).toHaveLength(1);
  });

  it('a resource is forgotten a retention after its last lease, and not earlier (I9)', () => {
    const world = new World();
    world.ask('a', { ttl: 10_000 });
    world.now += 69_999_999;
    world.engine.sweep(world.now);
    expect(world.engine.size).toBe(1);
    world.now += 1;
    world.engine.sweep(world.now);
    expect(world.engine.size).toBe(0);
  });

  it('an inspection changes no state, and keeps expired leases', () => {
    const world = new World();
    world.ask('a');
    world.ask('b');
    world.now += 10_000_000;
    expect(world.show()).toMatchObject({ used: 0, holders: [], waiters: [{ id: 'b' }] });
    expect(world.pushed()).toEqual([]);
    expect(world.engine.resource('k')?.used).toBe(1);
  });
});
