/** Waits until it is certain whether a lease is held: confirmed, released or lost. */
import type { LeaseRecord } from './lease-record.js';

export class Decisions {
  readonly #waiting = new Map<LeaseRecord, (() => void)[]>();

  /** Resolves at the next decision about a lease. */
  next(record: LeaseRecord): Promise<void> {
    return new Promise((resolve) => {
      const waiting = this.#waiting.get(record);
      if (waiting === undefined) this.#waiting.set(record, [resolve]);
      else waiting.push(resolve);
    });
  }

  /** A decision about a lease was made. */
  made(record: LeaseRecord): void {
    if (this.#waiting.size === 0) return;
    const waiting = this.#waiting.get(record);
    if (waiting === undefined) return;
    this.#waiting.delete(record);
    for (const tell of waiting) tell();
  }
}
