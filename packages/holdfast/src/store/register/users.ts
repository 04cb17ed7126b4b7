/**
 * The instances that use a register, under all prefixes. When the last one closes, the register's
 * connections end, after its wake channels.
 */
import type { Clock } from '../../base/clock.js';

/** How long they stay open for a wake channel that does not close. */
const CLOSE_MS = 1000;

export class Users {
  #count = 0;
  readonly #channels = new Set<Promise<void>>();

  get none(): boolean {
    return this.#count === 0;
  }

  enter(): void {
    this.#count += 1;
  }

  leave(): boolean {
    this.#count -= 1;
    return this.none;
  }

  /** A channel is open until its `close` was called and settled. */
  opened(close: () => Promise<void>): () => Promise<void> {
    let end: (closing: void | Promise<void>) => void = () => undefined;
    const closed = new Promise<void>((resolve) => {
      end = resolve;
    });
    // the connection of a channel that could not be closed ends with the register
    const settled = closed.catch(() => undefined);
    this.#channels.add(settled);
    return () => {
      end(close());
      return settled.finally(() => this.#channels.delete(settled));
    };
  }

  async quiet(clock: Clock): Promise<void> {
    let cancel = (): void => undefined;
    const limit = new Promise<void>((resolve) => {
      const timer = clock.after(CLOSE_MS, resolve);
      cancel = () => timer.cancel();
    });
    await Promise.race([Promise.all(this.#channels), limit]);
    cancel();
  }
}
