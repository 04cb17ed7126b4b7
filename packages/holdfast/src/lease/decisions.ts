/** Waits until it is certain whether a lease is held: confirmed, released or lost. */
import type { Root } from './root.js';

export class Decisions {
  readonly #waiting = new Map<Root, (() => void)[]>();

  /** Resolves at the next decision about a lease. */
  next(root: Root): Promise<void> {
    return new Promise((resolve) => {
      const waiting = this.#waiting.get(root);
      if (waiting === undefined) this.#waiting.set(root, [resolve]);
      else waiting.push(resolve);
    });
  }

  /** A decision about a lease was made. */
  made(root: Root): void {
    if (this.#waiting.size === 0) return;
    const waiting = this.#waiting.get(root);
    if (waiting === undefined) return;
    this.#waiting.delete(root);
    for (const tell of waiting) tell();
  }
}
