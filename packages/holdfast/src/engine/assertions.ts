/**
 * The invariants of a resource between two commands, checked where it costs nothing that matters:
 * in the tests and in the simulator. They are off in a program that uses the library.
 *
 * - I1: `used` is the sum of the weights of all leases, and grows beyond the capacity never (a
 *   capacity that was lowered below `used` takes no lease away).
 * - I2: a new lease, and a lease that got more weight, has a fence above all fences before.
 * - An acquisition is in one place: it holds, waits, is parked, or is not known.
 * - Orders and maps agree: leases and their expiries, waiters and their tickets, owners, holds.
 */
import type { Holder, Resource } from './resource.js';
import type { Micros } from './commands.js';

/** What a resource looked like after the command before. */
interface Snapshot {
  readonly used: number;
  /** The highest fence that a lease has had. */
  readonly highest: number;
  readonly fences: ReadonlyMap<string, number>;
}

const EMPTY: Snapshot = { used: 0, highest: 0, fences: new Map() };
const snapshots = new WeakMap<Resource, Snapshot>();
let enabled = false;

/** A resource with more entries than this is checked after one command in so many. */
const ENTRIES_MAX = 200;
let skipped = 0;

/** Turns the assertions of all engines in this process on or off. */
export function enableAssertions(on: boolean): void {
  enabled = on;
}

/** Throws an `Error` that names the invariant which a command has broken. */
export function assertSound(key: string, resource: Resource, now: Micros): void {
  if (!enabled) return;
  const entries = resource.holders.size + resource.holds.size + resource.waiters.size;
  if (entries + resource.parking.size > ENTRIES_MAX && ++skipped % ENTRIES_MAX > 0) {
    // how much was in use before the next check is not known then
    const before = snapshots.get(resource) ?? EMPTY;
    snapshots.set(resource, { ...before, used: Number.POSITIVE_INFINITY });
    return;
  }
  const problem = unsound(resource, now);
  if (problem !== undefined) throw new Error(`engine assertion: "${key}": ${problem}`);
}

/** The first invariant that does not hold, in words. Remembers the state for the next call. */
export function unsound(resource: Resource, now: Micros): string | undefined {
  const before = snapshots.get(resource) ?? EMPTY;
  const fences = new Map([...resource.holders].map(([id, { fence }]) => [id, fence]));
  const highest = Math.max(before.highest, ...fences.values());
  snapshots.set(resource, { used: resource.used, highest, fences });
  return (
    weights(resource, before) ??
    freshFences(resource, before) ??
    orders(resource) ??
    places(resource) ??
    owners(resource, now)
  );
}

function weights(resource: Resource, before: Snapshot): string | undefined {
  let sum = 0;
  for (const { weight } of resource.holders.values()) sum += weight;
  if (sum !== resource.used) return `used is ${resource.used}, the leases weigh ${sum} (I1)`;
  const grew = resource.used > before.used;
  if (grew && sum > resource.capacity) return `${sum} of ${resource.capacity} are held (I1)`;
  return undefined;
}

function freshFences(resource: Resource, before: Snapshot): string | undefined {
  for (const { id, fence } of resource.holders.values()) {
    if (fence > resource.fence) return `the fence of ${id} is above the last one (I2)`;
    if (before.fences.get(id) === fence) continue;
    if (fence <= before.highest) return `the fence of ${id} is not above all before (I2)`;
  }
  return undefined;
}

function orders(resource: Resource): string | undefined {
  const { expiries, fairWaiting, holders, queue, unconsumedSignals, waiters } = resource;
  if (expiries.size !== holders.size) return 'leases and their expiries are not as many';
  for (const { id, expires } of holders.values()) {
    if (expiries.score(id) !== expires) return `the order does not know the expiry of ${id}`;
  }
  if (queue.size !== waiters.size) return 'waiters and their tickets are not as many';
  let fair = 0;
  for (const { id, ticket, ...waiter } of waiters.values()) {
    if (queue.score(id) !== ticket) return `the queue does not know the ticket of ${id}`;
    if (waiter.fair) fair += 1;
  }
  if (fair !== fairWaiting) return `${fairWaiting} fair waiters are counted, there are ${fair}`;
  if (unconsumedSignals.length > 0) return 'a signal was not passed on';
  return undefined;
}

function places(resource: Resource): string | undefined {
  for (const id of resource.waiters.keys()) {
    const holds = resource.holders.has(id) || resource.holds.has(id);
    if (holds) return `${id} holds and waits`;
    if (resource.parking.get(id) !== undefined) return `${id} waits and is parked`;
  }
  for (const { id } of resource.parking.all()) {
    if (resource.holders.has(id) || resource.holds.has(id)) return `${id} holds and is parked`;
  }
  return undefined;
}

function owners(resource: Resource, now: Micros): string | undefined {
  for (const holder of resource.holders.values()) {
    if (holder.owner === '') continue;
    const problem = owned(resource, holder, now);
    if (problem !== undefined) return `the lease of ${holder.id}: ${problem}`;
  }
  return undefined;
}

function owned(resource: Resource, holder: Holder, now: Micros): string | undefined {
  const { expires, holds, id, owner, weight } = holder;
  if (holds.size === 0) return 'its owner has no hold';
  const heaviest = Math.max(...[...holds.values()].map((hold) => hold.weight));
  if (heaviest !== weight) return `it weighs ${weight}, its heaviest hold ${heaviest}`;
  // an expired lease that is not removed yet may have a successor of the same owner
  if (expires <= now) return undefined;
  if (resource.owners.get(owner) !== id) return 'its owner is not known to have it';
  for (const hold of holds.keys()) {
    if (resource.holds.get(hold) !== id) return `the hold ${hold} does not lead to it`;
  }
  return undefined;
}
