/**
 * A lease that the store keeps for a minimum time, also if its process dies.
 *
 *     held --keep--> kept --end, early--> detached --minimum over--> released, or expired
 *        \              \--end, after the minimum--> released
 *         \--end--> released
 *
 * Invariants: I8 (nothing renews an ended lease), I9 (a detached lease expires).
 */
import type { Core } from '../acquire/core.js';
import { HoldfastError } from '../base/errors.js';
import { drift } from '../lease/local-time.js';
import type { Hold } from '../lease/root.js';
import { Lease, type ReleaseOutcome } from '../lease/lease.js';
import { retry } from '../base/retry.js';
import { quote } from '../base/text.js';

const RETRY_MS = 20;
const REPLY_MS = 10;

export class KeptLease extends Lease {
  readonly #hold: Hold;
  readonly #core: Core;

  constructor(hold: Hold, core: Core) {
    super(hold, core);
    this.#hold = hold;
    this.#core = core;
  }

  /**
   * Keeps the lease for `ms` from now. Rejects with `HOLDFAST_LOST` if the lease has ended, and
   * with `HOLDFAST_UNCERTAIN` if it ends before the store replies.
   */
  async keep(ms: number): Promise<void> {
    const hold = this.#hold;
    const { clock } = this.#core;
    // the lease in the store ends no earlier than `validUntil`
    if (hold.validUntil - clock.now() < ms) {
      let took = REPLY_MS / 2;
      let spare: number;
      do {
        spare = 2 * took;
        took = await this.#extend(ms + spare);
      } while (took > spare);
    }
    // neither a fast local clock nor an early `close` may end the lease
    hold.keepUntil = clock.now() + (ms > 0 ? ms + drift(ms) : 0);
    if (!(await this.verify())) throw hold.lossError();
  }

  leave(): void {
    this.#core.releaser.leave(this.#hold);
  }

  /**
   * Resolves to the outcome of the release, or to `undefined` if the store must keep the lease.
   * Then it is released at the end of the minimum time if the `Holdfast` is still open, or it
   * expires.
   */
  async end(): Promise<ReleaseOutcome | undefined> {
    const { clock } = this.#core;
    const remaining = this.#hold.keepUntil - clock.now();
    if (remaining <= 0) return this.release();
    this.leave();
    let unhook = (): void => undefined;
    const release = (): void => {
      unhook();
      this.#core.releaser.withdraw(this.#hold);
    };
    const timer = clock.after(remaining, release, true);
    unhook = this.#core.onClose(() => timer.cancel());
    return undefined;
  }

  /** Resolves to the time of the answer: the store counts from the request. */
  async #extend(ms: number): Promise<number> {
    const hold = this.#hold;
    const { clock, watchdog } = this.#core;
    let failure: unknown;
    let sent = 0;
    const renew = (): Promise<string> => {
      sent = clock.now();
      hold.keepUntil = sent + ms;
      return watchdog.renew(hold.root, ms);
    };
    const status = await retry(renew, {
      clock,
      delay: () => RETRY_MS,
      continues: () => this.verify(),
      failed: (error) => {
        failure = error;
      },
    });
    if (status === 'renewed') return clock.now() - sent;
    if (status === 'absent') watchdog.lose(hold, 'gone');
    if (failure === undefined) throw hold.lossError();
    const what = `the extension of ${quote(hold.key)}`;
    const message = `Holdfast: the store did not reply to ${what}; no work was run`;
    throw new HoldfastError('HOLDFAST_UNCERTAIN', message, { key: hold.key, cause: failure });
  }
}
