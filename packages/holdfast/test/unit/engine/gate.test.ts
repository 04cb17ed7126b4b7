/** Gates, step by step: opening, breaking, and arrivals that do not count. */
import { beforeEach, describe, expect, it } from 'vitest';
import { Engine } from '../../../src/engine/engine.js';
import { BROKEN_LIMIT } from '../../../src/engine/limits.js';
import type { GateCommand, GateKind, GatePush, GateStatus } from '../../../src/engine/commands.js';

const START = 1_000_000_000;
const retention = 60_000;
let engine: Engine;
let now: number;
let told: string[];

beforeEach(() => {
  engine = new Engine(() => 1);
  now = START;
  told = [];
});

/** The reply of a gate; all fields are accessible. */
function apply(command: GateCommand): GateStatus & { count?: number } {
  const { reply, pushes } = engine.apply(command, now);
  for (const { channel, push } of pushes) {
    const { fate, reason, generation } = push as GatePush;
    told.push(`${channel}: ${generation} ${fate} ${reason}`.trim());
  }
  return reply as GateStatus;
}

/** Helpers for the gates of one kind, all with the key `k`. */
function gate(kind: GateKind, count: number, ttl = 1000) {
  const base = { key: 'k', kind, count, ttl, retention };
  return {
    arrive: (id: string, generation: number, by = 1, channel = `to ${id}`) =>
      apply({ ...base, op: 'arrive', id, generation, by, channel, token: id }),
    watch: (generation = 0, ids: string[] = [], channel = '') =>
      apply({ ...base, op: 'watch', generation, ids, channel, token: '' }),
    turn: (generation: number, reason: 'withdrawn' | 'reset' = 'reset') =>
      apply({ ...base, op: 'endGeneration', generation, reason }),
  };
}

describe('a latch', () => {
  it('opens after the agreed number of arrivals, and notifies its waiters', () => {
    const latch = gate('latch', 3);
    const { generation } = latch.watch(0, [], 'me');
    latch.watch(generation, [], 'you');
    expect(latch.arrive('a', generation)).toMatchObject({ fate: 'closed', rank: 2, missing: 2 });
    expect(told).toEqual([]);
    expect(latch.arrive('b', generation, 5)).toMatchObject({ fate: 'open', rank: 0, missing: 0 });
    expect(told).toEqual(['me', 'to a', 'you'].map((one) => `${one}: ${generation} open`));
    expect(latch.watch()).toMatchObject({ fate: 'open', generation });
    expect(latch.arrive('c', generation)).toMatchObject({ fate: 'open', rank: -1 });
  });

  it('counts an id once', () => {
    const latch = gate('latch', 2);
    const { generation } = latch.watch();
    const first = latch.arrive('a', generation);
    expect(latch.arrive('a', generation)).toEqual(first);
  });

  it('ignores an arrival for another generation', () => {
    const latch = gate('latch', 1);
    const { generation } = latch.watch();
    const { current } = latch.turn(generation);
    expect(current).toBeGreaterThan(generation);
    expect(latch.arrive('a', generation)).toMatchObject({ fate: 'broken', rank: -1, current });
    expect(latch.arrive('a', current + 1)).toMatchObject({ fate: 'unknown', rank: -1 });
    expect(latch.watch()).toMatchObject({ fate: 'closed', missing: 1, generation: current });
  });

  it('breaks when no arrival comes for its ttl, until it is reset', () => {
    const latch = gate('latch', 3);
    const { generation } = latch.watch(0, [], 'me');
    now += 900_000;
    latch.arrive('a', generation, 1, '');
    now += 999_999;
    expect(latch.watch()).toMatchObject({ fate: 'closed', next: 1 });
    now += 1;
    expect(latch.watch()).toMatchObject({ fate: 'broken', reason: 'expired', next: 0 });
    expect(told).toEqual([`me: ${generation} broken expired`]);
    expect(latch.arrive('b', generation)).toMatchObject({ fate: 'broken', rank: -1 });
    const { current } = latch.turn(generation);
    expect(latch.watch(generation)).toMatchObject({ fate: 'broken' });
    expect(latch.watch()).toMatchObject({ fate: 'closed', generation: current, missing: 3 });
  });

  it('stays open for its retention, and is forgotten then', () => {
    const latch = gate('latch', 1);
    const { generation } = latch.watch();
    latch.arrive('a', generation);
    now += retention * 1000 - 1;
    expect(latch.watch()).toMatchObject({ fate: 'open', generation });
    now += 1;
    expect(latch.watch(generation)).toMatchObject({ fate: 'unknown' });
    expect(latch.arrive('a', generation)).toMatchObject({ fate: 'unknown', rank: -1 });
    expect(engine.size).toBe(1);
    now += 2 * retention * 1000;
    engine.sweep(now);
    expect(engine.size).toBe(0);
  });

  it('has one count, and cannot be used as a barrier', () => {
    gate('latch', 2).watch();
    const mine = { status: 'other', now, kind: 'latch', count: 2 };
    expect(gate('latch', 3).watch()).toEqual(mine);
    expect(gate('latch', 3).arrive('a', START)).toEqual(mine);
    expect(gate('barrier', 2).watch()).toEqual(mine);
    expect(gate('barrier', 2).turn(START)).toEqual(mine);
  });

  it('is not created by watching, by a late arrival or by the end of a generation', () => {
    expect(gate('latch', 0).watch()).toMatchObject({ fate: 'unknown', current: 0 });
    expect(gate('latch', 1).arrive('a', START)).toMatchObject({ fate: 'unknown', current: 0 });
    expect(gate('latch', 1).turn(START)).toMatchObject({ fate: 'unknown', current: 0 });
    expect(engine.size).toBe(0);
  });
});

describe('a barrier', () => {
  it('opens for all participants of a generation, and is closed for the next one', () => {
    const barrier = gate('barrier', 2);
    const { generation } = barrier.watch();
    expect(barrier.arrive('a', generation)).toMatchObject({ fate: 'closed', rank: 1 });
    const last = barrier.arrive('b', generation);
    expect(last).toMatchObject({ fate: 'open', rank: 0, missing: 2 });
    expect(last.current).toBeGreaterThan(generation);
    expect(told).toEqual([`to a: ${generation} open`]);
    // A repeat from a participant without a reply.
    expect(barrier.arrive('a', generation)).toMatchObject({ fate: 'open', rank: 1, sure: true });
    expect(barrier.arrive('b', generation)).toEqual(last);
    expect(barrier.arrive('c', generation)).toMatchObject({ fate: 'open', rank: -1, sure: true });
  });

  it('breaks when an arrival is not kept alive, and not before', () => {
    const barrier = gate('barrier', 3);
    const { generation } = barrier.watch();
    barrier.arrive('a', generation);
    barrier.arrive('b', generation);
    now += 600_000;
    expect(barrier.watch(generation, ['a'])).toMatchObject({ fate: 'closed', next: 400_000 });
    now += 400_000;
    // The last arrival is too late and does not count.
    const late = barrier.arrive('c', generation);
    expect(late).toMatchObject({ fate: 'broken', reason: 'expired', rank: -1, sure: true });
    expect(told).toEqual(['to a', 'to b'].map((one) => `${one}: ${generation} broken expired`));
    expect(barrier.watch()).toMatchObject({ fate: 'closed', missing: 3, generation: late.current });
  });

  it('breaks once when a participant withdraws', () => {
    const barrier = gate('barrier', 2);
    const { generation } = barrier.watch();
    barrier.arrive('a', generation);
    const first = barrier.turn(generation, 'withdrawn');
    expect(first).toMatchObject({ fate: 'broken', reason: 'withdrawn' });
    expect(barrier.turn(generation, 'withdrawn')).toEqual(first);
    expect(told).toEqual([`to a: ${generation} broken withdrawn`]);
  });

  it('cannot be broken after it has opened', () => {
    const barrier = gate('barrier', 1);
    const { generation } = barrier.watch();
    const { current } = barrier.arrive('a', generation);
    expect(barrier.turn(generation, 'withdrawn')).toMatchObject({ fate: 'open', current });
  });

  it('accepts another number of parties while it has no arrivals', () => {
    const { generation } = gate('barrier', 2).watch();
    expect(gate('barrier', 3).arrive('a', generation)).toMatchObject({ rank: 2 });
    expect(gate('barrier', 2).arrive('b', generation)).toMatchObject({ status: 'other', count: 3 });
  });

  it('never reports a forgotten generation as open', () => {
    const barrier = gate('barrier', 1);
    const { generation } = barrier.watch();
    const { current } = barrier.arrive('a', generation);
    expect(barrier.watch(generation)).toMatchObject({ fate: 'open' });
    let turning = current;
    for (let count = 0; count <= BROKEN_LIMIT; count++) turning = barrier.turn(turning).current;
    expect(barrier.watch(generation)).toMatchObject({ fate: 'unknown', sure: false });
    expect(barrier.watch(current)).toMatchObject({ fate: 'unknown' });
    expect(barrier.watch(current + 1)).toMatchObject({ fate: 'broken' });
  });
});
