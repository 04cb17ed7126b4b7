/**
 * A lease that the store keeps for a minimum time, also if the holder's process dies.
 *
 *     held --keep--> kept --end, early--> detached --minimum over--> released, or expired
 *        \              \--end, after the minimum--> released
 *         \--end--> released
 *
 * Invariants: I8 (nothing renews an ended lease), I9 (a detached lease ends, because it has an
 * expiry). The store keeps the lease: its expiry is extended before the work starts, so this also
 * holds if the process is killed. `keepUntil` of the lease record makes `close` respect it.
 */
import type { Core } from '../core.js';
import { HoldfastError } from '../errors.js';
import { drift, type LeaseRecord } from '../lease/lease-record.js';
import { Lease, type ReleaseOutcome } from '../lease/lease.js';
import { quietly } from './acquirer.js';
import { retry } from '../retry.js';
import { quote } from '../text.js';

/** Ms between two attempts when the store does not reply. */
const RETRY_MS = 20;

export class KeptLease extends Lease {
  readonly #record: LeaseRecord;
  readonly #core: Core;

  constructor(record: LeaseRecord, core: Core) {
    super(record, core);
    this.#record = record;
    this.#core = core;
  }

  /**
   * Makes the store keep the lease for `ms` from now, by the store's clock. Rejects with
   * `HOLDFAST_LOST` if the lease has ended, and with `HOLDFAST_UNCERTAIN` if the store does not
   * reply before the lease ends.
   */
  async keep(ms: number): Promise<void> {
    const record = this.#record;
    const { clock } = this.#core;
    // neither a fast local clock nor a `close` before the reply may end the lease early
    const margin = ms > 0 ? ms + drift(ms) : 0;
    record.keepUntil = clock.now() + margin;
    // the lease in the store ends no earlier than `validUntil`
    if (record.validUntil - clock.now() < ms) await this.#extend(ms);
    record.keepUntil = clock.now() + margin;
    if (!(await this.verify())) throw record.lossError();
  }

  /** Detaches the lease: this process does not release it, so it ends at its expiry. */
  leave(): void {
    this.#core.leave(this.#record);
  }

  /**
   * Ends the lease in this process, and in the store if its minimum time is over. Resolves to the
   * outcome of the release, or to `undefined` if the store must still keep the lease. In that case
   * it is released at the end of the minimum time if this process still runs and its `Holdfast` is
   * open; otherwise it ends at its expiry.
   */
  async end(): Promise<ReleaseOutcome | undefined> {
    const { clock } = this.#core;
    const remaining = this.#record.keepUntil - clock.now();
    if (remaining <= 0) return this.release();
    this.leave();
    let unhook = (): void => undefined;
    const release = (): void => {
      unhook();
      void quietly(this.#core.release(this.#record));
    };
    const timer = clock.after(remaining, release, true);
    unhook = this.#core.onClose(() => timer.cancel());
    return undefined;
  }

  async #extend(ms: number): Promise<void> {
    const record = this.#record;
    const { clock, watchdog } = this.#core;
    let failure: unknown;
    const status = await retry(() => watchdog.renew(record, ms), {
      clock,
      delay: () => RETRY_MS,
      continues: () => this.verify(),
      failed: (error) => {
        failure = error;
      },
    });
    if (status === 'renewed') return;
    if (status === 'absent') watchdog.lose(record, 'gone');
    if (failure === undefined) throw record.lossError();
    const what = `the extension of ${quote(record.key)}`;
    const message = `Holdfast: the store did not reply to ${what}; no work was run`;
    throw new HoldfastError('HOLDFAST_UNCERTAIN', message, { key: record.key, cause: failure });
  }
}
