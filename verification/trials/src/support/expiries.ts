/** The ends of leases by the server's clock, converted to the local clock by an observer. */
import type { Holdfast, LockInfo } from 'holdfast';
import { monotonic } from './overlaps.js';

export class Expiries {
  readonly #holdfast: Holdfast;
  readonly #earliest = new Map<string, number>();

  constructor(holdfast: Holdfast) {
    this.#holdfast = holdfast;
  }

  /** Inspects a key once. */
  async inspect(key: string): Promise<LockInfo | null> {
    const before = monotonic();
    const info = await this.#holdfast.inspect(key);
    for (const { id, remaining } of info?.holders ?? []) {
      this.#earliest.set(id, Math.max(this.of(id), before + remaining));
    }
    return info;
  }

  /**
   * The earliest possible end of the lease, counted from the time at which the request was sent. It
   * is too early by the network delay of the request, a fraction of a millisecond.
   */
  of(id: string): number {
    return this.#earliest.get(id) ?? 0;
  }
}
