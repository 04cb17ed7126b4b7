/** Waiting until it is certain whether a lease is held: confirmed, released or lost. */
import type { LeaseRecord } from './lease-record.js';

export class Decisions {
  readonly #waiting = new Map<LeaseRecord, (() => void)[]>();

  /** Resolves when the next thing about a lease is certain. */
  next(record: LeaseRecord): Promise<void> {
    return new Promise((resolve) => {
      const waiting = this.#waiting.get(record);
      if (waiting === undefined) this.#waiting.set(record, [resolve]);
      else waiting.push(resolve);
    });
  }

  /** Something about a lease is certain now. */
  made(record: LeaseRecord): void {
    const waiting = this.#waiting.get(record);
    if (waiting === undefined) return;
    this.#waiting.delete(record);
    for (const tell of waiting) tell();
  }
}
