/**
 * The holds of owners that this process looks after. All holds of an owner in one key are one lease
 * in the store: what the store says of one of them, it says of all.
 */
import type { Grip } from './grip.js';

export class Owned {
  /** By key and owner. */
  readonly #grips = new Map<string, Set<Grip>>();

  add(grip: Grip): void {
    if (grip.terms.owner === '') return;
    const name = nameOf(grip);
    const grips = this.#grips.get(name);
    if (grips === undefined) this.#grips.set(name, new Set([grip]));
    else grips.add(grip);
    this.counted(grip, grip.holds);
  }

  remove(grip: Grip): void {
    if (grip.terms.owner === '') return;
    const name = nameOf(grip);
    const grips = this.#grips.get(name);
    if (grips?.delete(grip) === true && grips.size === 0) this.#grips.delete(name);
  }

  /** The holds here of the lease that a hold belongs to. */
  ofSameLease({ key, terms, fence }: Grip): Grip[] {
    const grips = this.#grips.get(nameOf({ key, terms })) ?? [];
    return [...grips].filter((one) => one.fence === fence);
  }

  /** The store said how many holds a lease has. */
  counted(grip: Grip, holds: number): void {
    for (const one of this.ofSameLease(grip)) one.holds = holds;
  }
}

function nameOf({ key, terms }: Pick<Grip, 'key' | 'terms'>): string {
  return JSON.stringify([key, terms.owner]);
}
