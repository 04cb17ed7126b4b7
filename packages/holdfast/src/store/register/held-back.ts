/**
 * Keys that a register holds back: something besides the lease, such as a transaction of its
 * holder, must end before the next grant. The read after a swap that it held back says so.
 *
 * The leases of such a key do not end. A key without a lease gets one without a holder, so others
 * wait in the queue. Each look at the key extends it; it ends soon after the key is free.
 */
import type { Micros } from '../../engine/commands.js';
import { NOTHING_SENT } from '../../engine/entries.js';
import type { Resource } from '../../engine/resource.js';
import { decode } from './state-codec.js';

/** How long a lease lasts from each look. */
const KEPT_MS = 500;
const HOLDERLESS = 'held-back';
const NO_FENCES: readonly number[] = [];
/** What `inspect` shows of the lease without a holder. */
const META = JSON.stringify({ label: 'a transaction of the last holder' });

export function holdBack(resource: Resource | undefined, time: Micros): void {
  if (resource === undefined) return;
  const expires = time + KEPT_MS * 1000;
  for (const holder of resource.holders.values()) resource.extend(holder, holder.id, expires);
  if (resource.holders.size > 0) return;
  const fence = Math.max(resource.fence + 1, time);
  resource.fence = fence;
  const { capacity: weight } = resource;
  resource.add({
    ...{ id: HOLDERLESS, owner: '', weight, fence, channel: '', tasks: 0, meta: META, changes: 0 },
    ...{ since: time, ttl: KEPT_MS, expires, due: expires, handOffs: 0, holds: new Map() },
    ...{ signalled: '', sent: NOTHING_SENT },
  });
}

export function fencesOf(resource: Resource | undefined): readonly number[] {
  if (resource === undefined || resource.holders.size === 0) return NO_FENCES;
  const fences: number[] = [];
  for (const { fence } of resource.holders.values()) fences.push(fence);
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
