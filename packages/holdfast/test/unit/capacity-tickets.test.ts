/**
 * The capacity of a resource, and waiters that lost their place: they ask again with their ticket
 * and with the capacity that was agreed when they came.
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

it('a waiter that wants more than there is now is refused, also when nothing is held', () => {
  world.setCapacity(4, 2);
  world.release('a');
  expect(world.waiting()).toEqual([]);
  expect(world.ask('b', { ...four, ticket })).toMatchObject({ status: 'mismatch', capacity: 2 });
  expect(world.show().capacity).toBe(2);
});

it('a newcomer sets it anew when nothing is held', () => {
  world.setCapacity(4, 2);
  world.release('a');
  expect(world.ask('c', { capacity: 5 }).status).toBe('granted');
  expect(world.show().capacity).toBe(5);
});

it('a waiter of a mutex does not turn a semaphore into a mutex', () => {
  world = new World();
  world.grant('a');
  world.dead.add('to b');
  const queued = world.ask('b').ticket as number;
  world.setCapacity(1, 2);
  world.release('a');
  expect(world.waiting()).toEqual([]);
  expect(world.ask('b', { ticket: queued })).toMatchObject({ status: 'mismatch', capacity: 2 });
  expect(world.show().capacity).toBe(2);
});

it('a waiter whose process was away is served if the capacity is what it was', () => {
  world.dead.add('to b');
  world.release('a');
  expect(world.waiting()).toEqual([]);
  expect(world.ask('b', { ...four, ticket }).status).toBe('granted');
});

it('a waiter whose process was away is served if the capacity is what it was again', () => {
  world.setCapacity(4, 2);
  world.release('a');
  world.setCapacity(2, 4);
  expect(world.ask('b', { ...four, ticket }).status).toBe('granted');
});

it('a waiter brings its own to a store that has lost everything', () => {
  world.setCapacity(4, 2);
  world.lose();
  expect(world.ask('b', { ...four, ticket }).status).toBe('granted');
  expect(world.show().capacity).toBe(4);
});
