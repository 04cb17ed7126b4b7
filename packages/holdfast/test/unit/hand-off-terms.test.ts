/** Which waiters of its process a lease is handed off to, and for how long. In virtual time. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { HolderView, InspectReply } from '../../src/engine/commands.js';
import { type AcquireOptions, Holdfast, type Lease } from '../../src/index.js';
import { settle, VirtualClock } from '../support/virtual-clock.js';
import { WatchedStore } from '../support/watched-store.js';
import { World } from '../support/world.js';

const ttl = 9000;
let clock: VirtualClock;
let store: WatchedStore;
let holdfast: Holdfast;

beforeEach(() => {
  clock = new VirtualClock();
  store = new WatchedStore(clock);
  holdfast = new Holdfast(store, { clock, ttl, requestTimeout: 1000 });
});

async function pair(
  first: AcquireOptions,
  second: AcquireOptions,
): Promise<{ lease: Lease; waiting: Promise<Lease> }> {
  const lease = await holdfast.mutex('k').acquire(first);
  const waiting = holdfast.mutex('k').acquire(second);
  await clock.advance(100);
  return { lease, waiting };
}

async function holder(): Promise<HolderView> {
  const [inspected] = store.inner.execute([{ op: 'inspect', key: 'k', limit: 9 }]);
  const reply = (await inspected) as InspectReply;
  return reply.holders[0] as HolderView;
}

const passedTo = (): string[] => store.seen('release').map(({ to }) => to);

describe('a lease is handed off inside the process', () => {
  it('to a waiter with the same terms', async () => {
    const { lease, waiting } = await pair({}, {});
    void lease.release();
    expect(passedTo()).toEqual([]);
    const successorRecord = await waiting;
    expect(passedTo()).toEqual([successorRecord.id]);
  });

  it("and lasts for the waiter's own ttl, however long the previous lease was", async () => {
    const { lease, waiting } = await pair({}, {});
    await lease.ensure(3_600_000);
    void lease.release();
    const successorRecord = await waiting;
    expect(successorRecord.remaining).toBeLessThan(ttl);
    expect(successorRecord.remaining).toBeGreaterThan(0.95 * ttl);
    await settle();
    const { left } = await holder();
    expect(left).toBeLessThanOrEqual(ttl * 1000);
    expect(successorRecord.remaining).toBeLessThan(left / 1000);
  });

  it('and lasts no longer if the store has forgotten the waiter', async () => {
    const { lease, waiting } = await pair({}, {});
    await lease.ensure(3_600_000);
    const { id } = store.seen('acquire').at(-1) as { id: string };
    const forget = { op: 'release', key: 'k', id, to: '', retention: 60_000 } as const;
    await store.inner.execute([forget])[0];
    void lease.release();
    const successorRecord = await waiting;
    await settle();
    expect(passedTo()).toEqual([successorRecord.id]);
    const { left } = await holder();
    expect(left).toBeLessThanOrEqual(ttl * 1000);
    expect(successorRecord.remaining).toBeLessThan(left / 1000);
  });
});

describe('a hand-off by the store', () => {
  it.each<[string, AcquireOptions, AcquireOptions]>([
    ['a shorter ttl', {}, { ttl: 500 }],
    ['a longer ttl', { ttl: 500 }, {}],
    ['no renewal', {}, { renew: false }],
    ['a shorter maxHold', {}, { maxHold: 500 }],
  ])('if the waiter asks for %s', async (_, first, second) => {
    const { lease, waiting } = await pair(first, second);
    void lease.release();
    const successorRecord = await waiting;
    expect(passedTo()).toEqual(['']);
    const asked = second.maxHold ?? second.ttl ?? ttl;
    expect((await holder()).left).toBeLessThanOrEqual(asked * 1000);
    const whole = second.renew === false ? asked : Math.min(asked, 1000);
    expect(successorRecord.remaining).toBeGreaterThan(0.95 * whole);
  });
});

it('the store cuts a handed-off lease to the ttl of the waiter', () => {
  const world = new World();
  world.grant('a', { handOffs: 8, ttl: 30_000 });
  world.ask('b', { ttl: 500 });
  world.now += 1000;
  expect(world.release('a', 'b').status).toBe('passed');
  expect(world.show().holders[0]).toMatchObject({ id: 'b', left: 500_000 });
});

it('the store does not prolong a handed-off lease', () => {
  const world = new World();
  world.grant('a', { handOffs: 8, ttl: 500 });
  world.ask('b', { ttl: 30_000 });
  expect(world.release('a', 'b').status).toBe('passed');
  expect(world.show().holders[0]).toMatchObject({ id: 'b', left: 500_000 });
});
