/**
 * Keys that a register holds back: something besides the lease, such as a transaction of its
 * holder, must end before the next grant. The read after a swap that it held back says so.
 *
 * The leases of such a key do not end. Free permits go to a lease without a holder, also those that
 * a command frees. Each look at the key extends it.
 */
import type { KeyCommand, Micros } from '../../engine/commands.js';
import type { Engine, Outcome } from '../../engine/engine.js';
import { NOTHING_SENT } from '../../engine/entries.js';
import type { Resource } from '../../engine/resource.js';
import { decode } from './state-codec.js';

/** From each look. */
const KEPT_MS = 500;
const HOLDERLESS = 'held-back';
const NO_FENCES: readonly number[] = [];
const META = JSON.stringify({ label: 'a transaction of the last holder' });

/** True if permits were free. */
export function holdBack(resource: Resource | undefined, time: Micros): boolean {
  if (resource === undefined) return false;
  const expires = time + KEPT_MS * 1000;
  for (const holder of resource.holders.values()) resource.extend(holder, holder.id, expires);
  const spare = resource.capacity - resource.used;
  const isFree = spare > 0 && resource.fits(spare);
  if (isFree) fill(resource, time, expires);
  if (resource.forgetAt <= expires) resource.touch(time, KEPT_MS);
  return isFree;
}

function fill(resource: Resource, time: Micros, expires: Micros): void {
  const before = resource.holders.get(HOLDERLESS);
  if (before !== undefined) resource.remove(before);
  const weight = resource.capacity - resource.used;
  const fence = Math.max(resource.fence + 1, time);
  resource.fence = fence;
  resource.add({
    ...{ id: HOLDERLESS, owner: '', weight, fence, channel: '', tasks: 0, meta: META, changes: 0 },
    ...{ since: time, ttl: KEPT_MS, expires, due: expires, handOffs: 0, holds: new Map() },
    ...{ signalled: '', sent: NOTHING_SENT },
  });
}

/** Grants nothing; asks the next waiter to poll after a release. */
export function applyHeldBack<C extends KeyCommand>(
  engine: Engine,
  command: C,
  time: Micros,
): Outcome<C> {
  const resource = engine.resource(command.key);
  if (resource === undefined) return engine.apply(command, time);
  resource.closed = true;
  const { reply, pushes } = engine.apply(command, time);
  resource.closed = false;
  const { id = '', channel = '' } = resource.waiters.get(resource.queue.at(0) ?? '') ?? {};
  if (!holdBack(resource, time) || channel === '') return { reply, pushes };
  return { reply, pushes: [...pushes, { channel, push: { kind: 'ask', id } }] };
}

/** The lease without a holder is no grant. */
export function fencesOf(resource: Resource | undefined): readonly number[] {
  if (resource === undefined || resource.holders.size === 0) return NO_FENCES;
  const fences: number[] = [];
  for (const { fence, id } of resource.holders.values()) if (id !== HOLDERLESS) fences.push(fence);
  return fences;
}

export function hasGrant(before: readonly number[], after: readonly number[]): boolean {
  const known = before.length > 8 ? new Set(before) : undefined;
  for (const fence of after) {
    if (!(known?.has(fence) ?? before.includes(fence))) return true;
  }
  return false;
}

/** A lease as its holder knows it. */
export interface NamedLease {
  readonly id: string;
  readonly fence: number;
}

/**
 * What a state says of a lease: `alone` if it excludes all others, `shared` if not, `lost` if it
 * has ended.
 * @param key of the lock, without a prefix
 * @param time the register's clock, in microseconds
 * @throws if the state cannot be read
 */
export function standingOf(
  state: string,
  { key, id, fence }: NamedLease & { readonly key: string },
  time: number,
): 'alone' | 'shared' | 'lost' {
  const resource = decode(key, state).engine.resource(key);
  // a root hands its lease on to tasks of its process: id/1, id/2, with the fences after its own
  const holder = [...(resource?.holders.values() ?? [])].find((one) => {
    const named = one.holds.has(id) || id === one.id || id.startsWith(`${one.id}/`);
    return named && fence >= one.fence && fence <= one.fence + one.handOffs;
  });
  if (resource === undefined || holder === undefined || holder.due <= time) return 'lost';
  return holder.weight >= resource.capacity && holder.owner === '' ? 'alone' : 'shared';
}
