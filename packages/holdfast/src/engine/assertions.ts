/**
 * The invariants of a resource between two commands: on in the tests and the simulator
 * (`enableAssertions`), off in programs.
 *
 * - I1: `used` is the sum of all weights and never grows beyond the capacity (a capacity lowered
 *   below `used` ends no lease).
 * - I2: a new lease, and one with more weight, has a fence above all earlier ones, also above those
 *   that a root may have used. No lease is beside such a root.
 * - An acquisition holds, waits, is parked, or is unknown: one of these.
 * - Orders and maps agree: leases and expiries, waiters and tickets, owners, holds.
 */
import { setCheck } from './check-hook.js';
import type { Holder } from './entries.js';
import type { Resource } from './resource.js';
import type { KeyCommand, Micros } from './commands.js';

interface Snapshot {
  readonly used: number;
  readonly highest: number;
  readonly leases: ReadonlyMap<string, Fences>;
}

type Fences = Readonly<Pick<Holder, 'id' | 'fence' | 'handOffs' | 'expires'>>;

const EMPTY: Snapshot = { used: 0, highest: 0, leases: new Map() };
const UNKNOWN = Number.POSITIVE_INFINITY;
const snapshots = new WeakMap<Resource, Snapshot>();

export type Report = (key: string, problem: string) => void;

let report: Report = fail;

/** A larger resource is checked once in this many commands. */
const ENTRIES_MAX = 200;
let skipped = 0;

export function enableAssertions(on: boolean, receiver: Report = fail): void {
  report = receiver;
  setCheck(on ? { command: assertSound, restored: (resource) => record(resource) } : undefined);
}

function fail(key: string, problem: string): never {
  throw new Error(`engine assertion: "${key}": ${problem}`);
}

function assertSound(command: KeyCommand, resource: Resource, now: Micros): void {
  const entries = resource.holders.size + resource.holds.size + resource.waiters.size;
  if (entries + resource.parking.size > ENTRIES_MAX && ++skipped % ENTRIES_MAX > 0) {
    forget(resource);
    return;
  }
  const problem = unsound(resource, now, command);
  if (problem !== undefined) report(command.key, problem);
}

/** The next check knows neither the former use nor how a lease ended. */
function forget(resource: Resource): void {
  const { highest, leases, used } = snapshots.get(resource) ?? EMPTY;
  // earlier commands may have been skipped
  if (used === UNKNOWN) return;
  const known = [...leases.values()].map((one) => [one.id, { ...one, handOffs: 0 }] as const);
  snapshots.set(resource, { used: UNKNOWN, highest, leases: new Map(known) });
}

export function unsound(resource: Resource, now: Micros, command?: KeyCommand): string | undefined {
  const before = snapshots.get(resource) ?? EMPTY;
  const ended = [...before.leases.values()].filter(
    ({ id, fence }) => resource.holders.get(id)?.fence !== fence,
  );
  const used = Math.max(before.highest, ...ended.map((lease) => lastUsed(lease, now, command)));
  record(resource, used);
  return (
    weights(resource, before) ??
    freshFences(resource, { ...before, highest: used }) ??
    orders(resource) ??
    places(resource) ??
    owners(resource, now)
  );
}

function record(resource: Resource, used = 0): void {
  const leases = new Map<string, Fences>();
  let highest = used;
  for (const { id, fence, handOffs, expires } of resource.holders.values()) {
    leases.set(id, { id, fence, handOffs, expires });
    highest = Math.max(highest, fence);
  }
  snapshots.set(resource, { used: resource.used, highest, leases });
}

function weights(resource: Resource, before: Snapshot): string | undefined {
  let sum = 0;
  for (const { weight } of resource.holders.values()) sum += weight;
  if (sum !== resource.used) return `used is ${resource.used}, the leases weigh ${sum} (I1)`;
  const grew = resource.used > before.used;
  if (grew && sum > resource.capacity)
    return `${sum} permits are held of ${resource.capacity} (I1)`;
  return undefined;
}

function lastUsed(lease: Fences, now: Micros, command: KeyCommand | undefined): number {
  const { id, fence, handOffs, expires } = lease;
  const reserved = fence + handOffs;
  if (command === undefined || !('id' in command) || command.id !== id || expires <= now)
    return reserved;
  if (command.op === 'release') {
    return command.unpassed === true ? fence : reserved;
  }
  if (command.op === 'turn' && command.fence === fence)
    return Math.min(reserved, Math.max(fence, command.used));
  if (command.op === 'park') return Math.min(reserved, Math.max(fence, command.used ?? 0));
  return command.op === 'turn' ? fence : reserved;
}

function freshFences(resource: Resource, before: Snapshot): string | undefined {
  for (const { id, fence, handOffs } of resource.holders.values()) {
    if (handOffs > 0 && resource.holders.size > 1)
      return `there is a lease beside ${id}, which has reserved fences (I2)`;
    if (fence + handOffs > resource.fence && handOffs > 0)
      return `the reserved fences of ${id} are above the last fence (I2)`;
    if (fence > resource.fence) return `the fence of ${id} is above the last fence (I2)`;
    if (before.leases.get(id)?.fence === fence) continue;
    if (fence <= before.highest) return `the fence of ${id} is not above all earlier fences (I2)`;
  }
  return undefined;
}

function orders(resource: Resource): string | undefined {
  const { expiries, fairWaiting, holders, queue, unconsumedSignals, waiters } = resource;
  if (expiries.size !== holders.size)
    return 'the number of leases and the number of expiries differ';
  for (const { id, due, expires, owner } of holders.values()) {
    if (expiries.score(id) !== due || (owner === '' && due !== expires))
      return `the order has another expiry of ${id}`;
  }
  if (queue.size !== waiters.size) return 'the number of waiters and the number of tickets differ';
  let fair = 0;
  for (const { id, ticket, ...waiter } of waiters.values()) {
    if (queue.score(id) !== ticket) return `the queue has another ticket of ${id}`;
    if (waiter.fair) fair += 1;
  }
  if (fair !== fairWaiting)
    return `fairWaiting is ${fairWaiting}, but ${fair} fair waiters are queued`;
  if (unconsumedSignals.length > 0) return 'an unconsumed signal was not delivered again';
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
  for (const [hold, { expires: end }] of holds)
    if (end < holder.due || end > expires) return `the hold ${hold} ends at ${end}`;
  // the owner of an expired lease may have a newer one beside it
  if (expires <= now) return undefined;
  if (resource.owners.get(owner) !== id) return 'it is not recorded as the lease of its owner';
  for (const hold of holds.keys()) {
    if (resource.holds.get(hold) !== id) return `the hold ${hold} is recorded for another lease`;
  }
  return undefined;
}
