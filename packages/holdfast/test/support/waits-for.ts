/** The wait-for graph of a store, and the detection of a cycle in it. */
import type { Holdfast } from '../../src/index.js';

/** The cycle of labels that wait for each other, or nothing. */
export async function circle(
  holdfast: Holdfast,
  keys: readonly string[],
): Promise<string[] | undefined> {
  const waitsFor = new Map<string, Set<string>>();
  for (const info of await Promise.all(keys.map((key) => holdfast.inspect(key)))) {
    for (const waiter of info?.waiters ?? []) {
      const others = waitsFor.get(waiter.label ?? '') ?? new Set();
      for (const holder of info?.holders ?? []) others.add(holder.label ?? '');
      waitsFor.set(waiter.label ?? '', others);
    }
  }
  for (const start of waitsFor.keys()) {
    const path = from(start, waitsFor, []);
    if (path !== undefined) return path;
  }
  return undefined;
}

function from(
  at: string,
  edges: ReadonlyMap<string, ReadonlySet<string>>,
  path: readonly string[],
): string[] | undefined {
  if (path.includes(at)) return [...path.slice(path.indexOf(at)), at];
  for (const next of edges.get(at) ?? []) {
    const found = from(next, edges, [...path, at]);
    if (found !== undefined) return found;
  }
  return undefined;
}
