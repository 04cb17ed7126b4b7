/** The wait-for graph of a store, and the detection of a cycle in it. */
import type { Holdfast } from '../../src/index.js';

/** An acquisition that waits for the lease of another one. */
interface Edge {
  readonly waiter: string;
  readonly holder: string;
}

/**
 * The cycle of labels that wait for each other, or nothing. The keys are inspected one after
 * another, so a cycle of one look may never have existed at one time. An acquisition that was
 * waiting (or holding) in two looks did so all the time between them: only such edges count.
 */
export async function circle(
  holdfast: Holdfast,
  keys: readonly string[],
): Promise<string[] | undefined> {
  const before = await edges(holdfast, keys);
  const waitsFor = new Map<string, Set<string>>();
  for (const [name, { waiter, holder }] of await edges(holdfast, keys)) {
    if (!before.has(name)) continue;
    waitsFor.set(waiter, (waitsFor.get(waiter) ?? new Set()).add(holder));
  }
  for (const start of waitsFor.keys()) {
    const path = from(start, waitsFor, []);
    if (path !== undefined) return path;
  }
  return undefined;
}

/** The labels of all edges, by the ids of their acquisitions. */
async function edges(holdfast: Holdfast, keys: readonly string[]): Promise<Map<string, Edge>> {
  const found = new Map<string, Edge>();
  for (const info of await Promise.all(keys.map((key) => holdfast.inspect(key)))) {
    for (const waiter of info?.waiters ?? []) {
      for (const holder of info?.holders ?? []) {
        const edge = { waiter: waiter.label ?? '', holder: holder.label ?? '' };
        found.set(`${waiter.id} ${holder.id}`, edge);
      }
    }
  }
  return found;
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
