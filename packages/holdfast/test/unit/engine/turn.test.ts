/** The end of a root and the place of the next one. */
import { beforeEach, describe, expect, it } from 'vitest';
import { World } from '../../support/world.js';

let world: World;
beforeEach(() => {
  world = new World();
});

describe('a turn', () => {
  it('ends the root and grants the next one, if no other waits', () => {
    const { fence } = world.grant('p.a', { handOffs: 8 });
    const reply = world.turn('p.a', fence, 'p.b', { used: fence + 2, handOffs: 8 });
    expect(reply.status).toBe('freed');
    expect(reply.again).toMatchObject({ status: 'granted', left: 10_000_000 });
    expect(world.held()).toEqual(['p.b']);
  });

  it('frees the fences that were not used, and no used one', () => {
    const { fence } = world.grant('p.a', { handOffs: 8 });
    world.turn('p.a', fence, '', { used: fence + 2 });
    expect(world.show().fence).toBe(fence + 2);
    expect(world.grant('p.b').fence).toBe(Math.max(fence + 3, world.now));
  });

  it('keeps the used fences within those of the root', () => {
    const { fence } = world.grant('p.a', { handOffs: 8 });
    world.turn('p.a', fence, '', { used: fence + 99 });
    expect(world.show().fence).toBe(fence + 64);
  });

  it('serves the queue before the next root', () => {
    const { fence } = world.grant('p.a', { handOffs: 8 });
    world.ask('q.x');
    const { again } = world.turn('p.a', fence, 'p.b');
    expect(again.status).toBe('queued');
    expect(world.held()).toEqual(['q.x']);
    expect(world.pushed()).toEqual(['grant q.x']);
  });

  it('without a next root releases the root', () => {
    const { fence } = world.grant('p.a', { handOffs: 8 });
    expect(world.turn('p.a', fence)).toMatchObject({
      status: 'freed',
      again: { status: 'absent' },
    });
    expect(world.held()).toEqual([]);
  });

  it('that is repeated changes nothing, and reports how the next root stands', () => {
    const { fence } = world.grant('p.a', { handOffs: 8 });
    const first = world.turn('p.a', fence, 'p.b');
    const repeated = world.turn('p.a', fence, 'p.b');
    expect(repeated).toEqual({ ...first, status: 'absent' });
    world.release('p.b');
    expect(world.turn('p.a', fence, 'p.b').again.status).toBe('absent');
    expect(world.held()).toEqual([]);
    expect(world.waiting()).toEqual([]);
  });

  it('of a lease with another fence ends the lease, and queues nothing', () => {
    // a late duplicate of the request of an ended root was granted
    const { fence } = world.grant('p.a', { handOffs: 8 });
    world.turn('p.a', fence, 'p.b', { used: fence + 2 });
    world.release('p.b');
    world.now += 1000;
    const late = world.grant('p.a', { handOffs: 8 });
    expect(world.turn('p.a', fence, 'p.b', { used: fence + 2 })).toMatchObject({
      status: 'absent',
      again: { status: 'absent' },
    });
    expect(world.held()).toEqual([]);
    expect(world.show().fence).toBe(late.fence);
  });

  it('withdraws a late duplicate of the root from the queue', () => {
    world.grant('q.x');
    world.ask('p.a');
    world.turn('p.a', 1, 'p.b');
    expect(world.waiting()).toEqual([]);
  });

  it('does not end the lease of an owner', () => {
    const { fence } = world.grant('p.a', { owner: 'o' });
    expect(world.turn('p.a', fence, 'p.b').status).toBe('absent');
    expect(world.held()).toEqual(['p.a']);
  });

  it('of an unknown key creates nothing', () => {
    expect(world.turn('p.a', 1, 'p.b')).toMatchObject({
      status: 'absent',
      again: { status: 'absent' },
    });
    expect(world.engine.size).toBe(0);
  });

  it('after the lease has ended queues nothing, and keeps the reserved fences', () => {
    const { fence } = world.grant('p.a', { handOffs: 8, ttl: 10 });
    world.ask('q.x');
    world.now += 10_000;
    const { status, again } = world.turn('p.a', fence, 'p.b', { used: fence + 2 });
    expect([status, again.status]).toEqual(['absent', 'absent']);
    expect(world.show().fence).toBeGreaterThan(fence + 64);
  });

  it('tells the store how many tasks wait', () => {
    const { fence } = world.grant('p.a', { handOffs: 8, tasks: 1 });
    world.ask('q.x');
    world.turn('p.a', fence, 'p.b', { tasks: 4, handOffs: 8 });
    expect(world.show().waiters[0]).toMatchObject({ id: 'p.b', tasks: 4 });
    world.release('q.x');
    expect(world.show().holders[0]).toMatchObject({ id: 'p.b', tasks: 4, handOffs: 64 });
  });
});

describe('the place of the next root', () => {
  it('is that of its oldest task', () => {
    const { fence } = world.grant('p.a');
    world.now += 10_000;
    world.ask('q.early');
    world.now += 10_000;
    world.ask('q.late');
    world.now += 10_000;
    world.turn('p.a', fence, 'p.b', { waited: 15 });
    expect(world.held()).toEqual(['q.early']);
    expect(world.waiting()).toEqual(['p.b', 'q.late']);
  });

  it('is the end of the queue if the clock of the server was set back', () => {
    const { fence } = world.grant('p.a');
    world.ask('q.x');
    world.ask('q.y');
    world.now -= 1_000_000;
    world.turn('p.a', fence, 'p.b', { waited: 5000 });
    expect(world.waiting()).toEqual(['q.y', 'p.b']);
  });

  it('also after a request that was sent anew', () => {
    world.grant('q.x');
    world.now += 10_000;
    world.ask('q.y');
    world.now += 10_000;
    world.ask('p.b', { waited: 15 });
    expect(world.waiting()).toEqual(['p.b', 'q.y']);
  });
});
