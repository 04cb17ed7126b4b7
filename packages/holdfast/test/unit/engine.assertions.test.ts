/** The engine's assertions are enabled in the tests, and each of them fires. */
import { beforeEach, describe, expect, it } from 'vitest';
import { unsound } from '../../src/engine/assertions.js';
import { Engine } from '../../src/engine/engine.js';
import { restoredResource, savedResource } from '../../src/engine/saved.js';
import type { Resource } from '../../src/engine/resource.js';
import { asking } from '../support/crowds.js';

const NOW = 1_000_000;
let engine: Engine;
let resource: Resource;

function ask(id: string, more: object = {}): void {
  engine.apply(asking(id, { key: 'k', capacity: 3, ttl: 1000, ...more }), NOW);
}

beforeEach(() => {
  engine = new Engine(() => 1);
  ask('a', { weight: 2 });
  ask('o', { owner: 'owner' });
  ask('o2', { owner: 'owner' });
  ask('w', { fair: true });
  resource = engine.resource('k') as Resource;
});

it('accepts a correct resource', () => {
  expect(unsound(resource, NOW)).toBeUndefined();
});

describe('detects', () => {
  const holder = (id: string): NonNullable<ReturnType<Resource['holders']['get']>> =>
    resource.holders.get(id) as NonNullable<ReturnType<Resource['holders']['get']>>;

  it.each<[string, RegExp, () => void]>([
    [
      'a weight that is not counted',
      /used is 3, the leases weigh 4/,
      () => (holder('a').weight = 3),
    ],
    [
      'leases above the capacity',
      /4 permits are held of 3/,
      () => {
        holder('a').weight = 3;
        resource.used = 4;
      },
    ],
    ['a fence above the last one', /above the last fence/, () => (holder('a').fence += 10)],
    [
      'a fence that was used twice',
      /not above all earlier fences/,
      () => (holder('o').fence = holder('a').fence),
    ],
    ['an expiry out of order', /expiry of a/, () => (holder('a').expires += 1)],
    [
      'a lease without a place in the expiry order',
      /expiries differ/,
      () => resource.expiries.delete('a'),
    ],
    ['a waiter without a ticket', /tickets differ/, () => resource.queue.delete('w')],
    ["a ticket that differs from the queue's", /ticket of w/, () => resource.queue.set('w', 1)],
    ['a fair waiter that is not counted', /fairWaiting is 0/, () => (resource.fairWaiting = 0)],
    [
      'a signal that is not redelivered',
      /not delivered again/,
      () => resource.unconsumedSignals.push('c'),
    ],
    ['a waiter that also holds the lock', /w holds and waits/, () => resource.holds.set('w', 'o')],
    [
      'an owner without a lease',
      /not recorded as the lease/,
      () => resource.owners.delete('owner'),
    ],
    ['a hold without its lease', /o2 is recorded for another/, () => resource.holds.delete('o2')],
    ['a lease without holds', /no hold/, () => holder('o').holds.clear()],
  ])('%s', (_, expected, damage) => {
    damage();
    expect(unsound(resource, NOW)).toMatch(expected);
  });
});

it('the assertions are enabled in tests: a command on a damaged resource throws', () => {
  resource.fairWaiting = 7;
  expect(() => ask('w')).toThrow(
    'engine assertion: "k": fairWaiting is 7, but 1 fair waiters are queued',
  );
});

it('a restored resource may hold more permits than its lowered capacity', () => {
  resource.capacity = 2;
  const restored = restoredResource(savedResource(resource));
  const other = new Engine(() => 1);
  other.restore('k', restored);
  other.apply({ op: 'renew', key: 'k', id: 'a', ttl: 1000, retention: 1000 }, NOW);
  expect(restored.used).toBe(3);
});

it('the first command on a resource may not grant more permits than there are', () => {
  const { used } = resource;
  const restored = restoredResource(savedResource(resource));
  restored.capacity = 2;
  expect(used).toBe(3);
  expect(unsound(restored, NOW)).toMatch('3 permits are held of 2');
});
