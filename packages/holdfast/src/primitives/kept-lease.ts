/**
 * A lease that the store keeps for a while, whatever becomes of its holder.
 *
 *     held --keep--> kept --end, in time--> left --in time--> released, or ended by the store
 *        \              \--end, later--> released
 *         \--end--> released
 *
 * Invariants: I8 (once ended, nothing renews it), I9 (what is left ends: a lease has an expiry).
 * That it is kept is the store's doing: its expiry is moved before anything else happens. So it
 * holds for a process that is killed, too. `keepUntil` of the grip makes closing respect it.
 */
import type { Core } from '../core.js';
import { HoldfastError } from '../errors.js';
import { drift, type LeaseRecord } from '../lease/lease-record.js';
import { Lease, type ReleaseOutcome } from '../lease/lease.js';
import { quietly } from './acquirer.js';
import { Pause } from './pause.js';
import { quote } from '../text.js';

/** Pause between two tries when the store does not answer. */
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
   * Has the store keep the lease for `ms` from now on, by its clock. Rejects with `HOLDFAST_LOST`
   * if it has ended, and with `HOLDFAST_UNCERTAIN` if the store does not answer for as long as it
   * lasts.
   */
  async keep(ms: number): Promise<void> {
    const record = this.#record;
    const { clock } = this.#core;
    // a clock that is too fast must not end it early; and a close must not, before the answer
    const margin = ms > 0 ? ms + drift(ms) : 0;
    record.keepUntil = clock.now() + margin;
    // the lease of the store ends no earlier than what is believed here
    if (record.validUntil - clock.now() < ms) await this.#extend(ms);
    record.keepUntil = clock.now() + margin;
    if (!(await this.verify())) throw record.lossError();
  }

  /** Keeps what is granted for as long as that lasts: nothing here gives it back. */
  leave(): void {
    this.#core.leave(this.#record);
  }

  /**
   * Ends it here; in the store too, unless that is to keep it for longer. Resolves to what the
   * store said, if it was asked. A lease that lasts for longer than it is to be kept is released
   * when that is over, if this process and its `Holdfast` still live then.
   */
  async end(): Promise<ReleaseOutcome | undefined> {
    const { clock } = this.#core;
    const left = this.#record.keepUntil - clock.now();
    if (left <= 0) return this.release();
    this.leave();
    let unhook = (): void => undefined;
    const release = (): void => {
      unhook();
      void quietly(this.#core.release(this.#record));
    };
    const timer = clock.after(left, release, true);
    unhook = this.#core.onClose(() => timer.cancel());
    return undefined;
  }

  async #extend(ms: number): Promise<void> {
    const record = this.#record;
    const { clock, watchdog } = this.#core;
    const rest = new Pause(clock);
    let failure: unknown;
    while (await this.verify()) {
      try {
        if ((await watchdog.renew(record, ms)) === 'renewed') return;
        watchdog.lose(record, 'gone');
      } catch (error) {
        failure = error;
        await rest.for(RETRY_MS);
      }
    }
    if (failure === undefined) throw record.lossError();
    const message = `Holdfast: no answer to the extension of ${quote(record.key)}; nothing was run`;
    throw new HoldfastError('HOLDFAST_UNCERTAIN', message, { key: record.key, cause: failure });
  }
}
