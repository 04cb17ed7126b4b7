/**
 * The holds of owners that this watchdog renews. All holds of an owner on one key are one lease in
 * the store: an answer about one applies to all.
 */
import type { Root } from './root.js';

export class Owned {
  readonly #roots = new Map<string, Set<Root>>();

  add(root: Root): void {
    const name = nameOf(root);
    const roots = this.#roots.get(name);
    if (roots === undefined) this.#roots.set(name, new Set([root]));
    else roots.add(root);
    this.counted(root, root.holds);
  }

  remove(root: Root): void {
    const name = nameOf(root);
    const roots = this.#roots.get(name);
    if (roots?.delete(root) === true && roots.size === 0) this.#roots.delete(name);
  }

  ofSameLease({ key, owner, fence }: Root): Root[] {
    const roots = this.#roots.get(nameOf({ key, owner })) ?? [];
    return [...roots].filter((one) => one.fence === fence);
  }

  counted(root: Root, holds: number): void {
    for (const one of this.ofSameLease(root)) one.extras.holds = holds;
  }
}

function nameOf({ key, owner }: Pick<Root, 'key' | 'owner'>): string {
  return JSON.stringify([key, owner]);
}
