/**
 * The capacity of a resource, and waiters that lost their place. They ask again with their ticket
 * and with the capacity that was agreed on when they first asked.
 */
import { beforeEach, expect, it } from 'vitest';
import { World } from '../support/world.js';

const four = { capacity: 4, weight: 3 };
let world: World;
let ticket: number;

beforeEach(() => {
  world = new World();
  world.grant('a', { capacity: 4, weight: 4 });
  ticket = world.ask('b', four).ticket as number;
});

it('refuses a waiter that wants more than the present capacity, also when the key is idle', () => {
  world.setCapacity(4, 2);
  world.release('a');
  expect(world.waiting()).toEqual([]);
  expect(world.ask('b', { ...four, ticket })).toMatchObject({ status: 'mismatch', capacity: 2 });
  expect(world.show().capacity).toBe(2);
});

it('lets a newcomer change the capacity of an idle key', () => {
  world.setCapacity(4, 2);
  world.release('a');
  expect(world.ask('c', { capacity: 5 }).status).toBe('granted');
  expect(world.show().capacity).toBe(5);
});

it('does not lower the capacity for a returning waiter', () => {
  const sole = { kind: 'semaphore', capacity: 1 } as const;
  world = new World();
  world.grant('a', sole);
  world.dead.add('to b');
  const queued = world.ask('b', sole).ticket as number;
  world.setCapacity(1, 2);
  world.release('a');
  expect(world.waiting()).toEqual([]);
  expect(world.ask('b', { ...sole, ticket: queued })).toMatchObject({
    status: 'mismatch',
    capacity: 2,
  });
  expect(world.show().capacity).toBe(2);
});

it('serves a returning waiter if the capacity is unchanged', () => {
  world.dead.add('to b');
  world.release('a');
  expect(world.waiting()).toEqual([]);
  expect(world.ask('b', { ...four, ticket }).status).toBe('granted');
});

it('serves a returning waiter if the capacity was restored', () => {
  world.setCapacity(4, 2);
  world.release('a');
  world.setCapacity(2, 4);
  expect(world.ask('b', { ...four, ticket }).status).toBe('granted');
});

it('takes the capacity of a returning waiter if the store lost its state', () => {
  world.setCapacity(4, 2);
  world.lose();
  expect(world.ask('b', { ...four, ticket }).status).toBe('granted');
  expect(world.show().capacity).toBe(4);
});
