/**
 * Selects the acquisitions of a step: a kind of acquisition becomes an id when the step runs, from
 * the state at that time.
 */
import type { Resource } from '../../src/engine/resource.js';

/** The number of ids of each key before new ones are created. */
export const POOL = 12;

/** The kind of acquisition a step selects. If the key has none of the kind, any acquisition. */
export interface Pointer {
  readonly who: 'holder' | 'waiter' | 'head' | 'parked' | 'newcomer' | 'any' | 'none';
  readonly pick: number;
}

/** The owner of an acquisition never changes, because its id is used only once. */
export function ownerOf(id: string): string {
  const number = Number(id.slice(3));
  if (number <= POOL / 2) return '';
  return number < POOL - 1 ? 'o0' : 'o1';
}

/** A parked acquisition keeps its owner. A hold that left an owner's lease does not return. */
export function parkedAs(to: Pointer, id: string, resource: Resource | undefined): string {
  const spent = (one: string): boolean => resource?.holders.get(one)?.holds.has(one) === false;
  const fit = (one: string): boolean =>
    ownerOf(one) === ownerOf(id) && (ownerOf(one) === '' || !spent(one));
  const as = idOf(to, resource);
  return fit(as) ? as : (poolFrom(to.pick).find(fit) ?? id);
}

/** A root has no owner. */
export function withoutOwner(to: Pointer, resource: Resource | undefined): string {
  const id = idOf(to, resource);
  return [id, ...poolFrom(to.pick)].find((one) => ownerOf(one) === '') as string;
}

export function poolFrom(pick: number): string[] {
  const id = (index: number): string => `p${index % 3}.${index + 1}`;
  return Array.from({ length: POOL }, (_, index) => id((index + pick) % POOL));
}

export function idOf({ who, pick }: Pointer, resource: Resource | undefined): string {
  if (who === 'none') return '';
  const pool = poolFrom(pick);
  const candidates = resource === undefined ? [] : candidatesFor(who, resource, pool);
  return candidates[pick % candidates.length] ?? (pool[0] as string);
}

function candidatesFor(who: Pointer['who'], resource: Resource, pool: string[]): string[] {
  const { holders, holds, queue, parking: parked } = resource;
  switch (who) {
    case 'holder':
      return [...new Set([...holders.keys(), ...holds.keys()])];
    case 'waiter':
      return [...queue.first(POOL)];
    case 'head':
      return [...queue.first(1)];
    case 'parked':
      return parked.all().map((one) => one.id);
    case 'newcomer':
      return pool.filter(
        (one) => !holders.has(one) && !holds.has(one) && !queue.score(one) && !parked.get(one),
      );
    case 'any':
    case 'none':
      return [];
  }
}
