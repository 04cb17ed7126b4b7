/**
 * The holds of owners that the watchdog of this process renews. All holds of an owner on one key
 * are one lease in the store: an answer about one of them applies to all.
 */
import type { LeaseRecord } from './lease-record.js';

export class Owned {
  /** By key and owner. */
  readonly #records = new Map<string, Set<LeaseRecord>>();

  add(record: LeaseRecord): void {
    if (record.terms.owner === '') return;
    const name = nameOf(record);
    const records = this.#records.get(name);
    if (records === undefined) this.#records.set(name, new Set([record]));
    else records.add(record);
    this.counted(record, record.holds);
  }

  remove(record: LeaseRecord): void {
    if (record.terms.owner === '') return;
    const name = nameOf(record);
    const records = this.#records.get(name);
    if (records?.delete(record) === true && records.size === 0) this.#records.delete(name);
  }

  /** The local holds of the lease that a hold belongs to. */
  ofSameLease({ key, terms, fence }: LeaseRecord): LeaseRecord[] {
    const records = this.#records.get(nameOf({ key, terms })) ?? [];
    return [...records].filter((one) => one.fence === fence);
  }

  /** The store reported the number of holds of a lease. */
  counted(record: LeaseRecord, holds: number): void {
    for (const one of this.ofSameLease(record)) one.holds = holds;
  }
}

function nameOf({ key, terms }: Pick<LeaseRecord, 'key' | 'terms'>): string {
  return JSON.stringify([key, terms.owner]);
}
