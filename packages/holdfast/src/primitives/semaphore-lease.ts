import type { Core } from '../acquire/core.js';
import { HoldfastError, isHoldfastError } from '../base/errors.js';
import { whole } from '../base/checks.js';
import { ask } from './inspection.js';
import { Lease } from '../lease/lease.js';
import type { Hold } from '../lease/root.js';
import { quote } from '../base/text.js';

/** Permits of a semaphore: one lease, renewed and lost together. */
export class SemaphoreLease extends Lease {
  readonly #hold: Hold;
  readonly #core: Core;
  #turn: Promise<unknown> = Promise.resolve();

  /** @internal */
  constructor(hold: Hold, core: Core) {
    super(hold, core);
    this.#hold = hold;
    this.#core = core;
  }

  get permits(): number {
    return this.#hold.root.weight;
  }

  /**
   * Releases a part of the permits, and hands them to the next waiters. At least one stays:
   * `release` ends the lease. Resolves to the number that stays.
   *
   * Rejects with `HOLDFAST_REFUSED` if the lease is shared and has several holds, with
   * `HOLDFAST_LOST` if it has ended, and with `HOLDFAST_UNCERTAIN` if the store does not reply: the
   * permits may have been released, and count as released in `permits`.
   * @param count 1 to `permits - 1`
   */
  releasePermits(count: number): Promise<number> {
    const result = this.#turn.then(() => this.#releasePermits(count));
    this.#turn = result.catch(() => undefined);
    return result;
  }

  async #releasePermits(count: number): Promise<number> {
    const hold = this.#hold;
    const { key, id, fence } = hold;
    whole('count', count ?? null, 0, 1, this.permits - 1);
    await this.certainlyHeld();
    const before = this.permits;
    const weight = before - count;
    const seq = (hold.root.extras.changes += 1);
    const { retention } = this.#core.settings;
    // the permits may already be another holder's
    hold.root.resized(weight, fence);
    const command = { op: 'resize', key, id, weight, seq, retention } as const;
    const asked = ask(this.#core, command, 'HOLDFAST_UNCERTAIN');
    const { status } = await asked.catch((error: unknown) => {
      if (isHoldfastError(error, 'HOLDFAST_REFUSED')) hold.root.resized(before, fence);
      throw error;
    });
    if (status === 'absent') await this.#core.watchdog.gone(hold.root);
    if (status === 'refused') {
      hold.root.resized(before, fence);
      const why = 'its lease has more holds';
      const message = `Holdfast: no permits of ${quote(key)} were released: ${why}`;
      throw new HoldfastError('HOLDFAST_REFUSED', message, { key });
    }
    await this.certainlyHeld();
    return weight;
  }
}
