/** When leases end by the server's clock, told on ours, by somebody who only looks. */
import type { Holdfast, LockInfo } from 'holdfast';
import { monotonic } from './overlaps.js';

export class Expiries {
  readonly #holdfast: Holdfast;
  readonly #earliest = new Map<string, number>();

  constructor(holdfast: Holdfast) {
    this.#holdfast = holdfast;
  }

  /** Looks at a key once. */
  async look(key: string): Promise<LockInfo | null> {
    const before = monotonic();
    const info = await this.#holdfast.inspect(key);
    for (const { id, remaining } of info?.holders ?? []) {
      this.#earliest.set(id, Math.max(this.of(id), before + remaining));
    }
    return info;
  }

  /**
   * The earliest moment at which the lease can have ended: what was left was left after the
   * question had been asked. It is too early by the way there, a fraction of a millisecond.
   */
  of(id: string): number {
    return this.#earliest.get(id) ?? 0;
  }
}
