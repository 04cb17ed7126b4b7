/** Waiting until it is certain whether a lease is held: confirmed, released or lost. */
import type { Grip } from './grip.js';

export class Decisions {
  readonly #waiting = new Map<Grip, (() => void)[]>();

  /** Resolves when the next thing about a lease is certain. */
  next(grip: Grip): Promise<void> {
    return new Promise((resolve) => {
      const waiting = this.#waiting.get(grip);
      if (waiting === undefined) this.#waiting.set(grip, [resolve]);
      else waiting.push(resolve);
    });
  }

  /** Something about a lease is certain now. */
  made(grip: Grip): void {
    const waiting = this.#waiting.get(grip);
    if (waiting === undefined) return;
    this.#waiting.delete(grip);
    for (const tell of waiting) tell();
  }
}
