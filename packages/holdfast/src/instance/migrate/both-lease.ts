/** A lease that ends as soon as the other library's lock ends. */
import { type CallOptions, unlessAborted } from '../../base/abort.js';
import type { Core } from '../../acquire/core.js';
import { HoldfastError } from '../../base/errors.js';
import { checkEnd, checkMs } from '../../lease/extension.js';
import { Lease, type ReleaseOutcome } from '../../lease/lease.js';
import type { Hold } from '../../lease/root.js';
import type { LeaseState } from '../../lease/lease-state.js';
import { quote } from '../../base/text.js';
import type { OldHold, OldHoldEvents } from './old-hold.js';

/** The other lock is extended by so much more: the lease's extension takes time. */
const MARGIN_MS = 500;

export class BothLease extends Lease {
  readonly #core: Core;
  readonly #old: OldHold;
  readonly #lose: () => void;
  #oldEnded: Promise<void> | undefined;
  #released: Promise<ReleaseOutcome> | undefined;

  /** @internal */
  constructor(hold: Hold, core: Core, take: (events: OldHoldEvents) => OldHold) {
    super(hold, core);
    this.#core = core;
    this.#lose = () => core.watchdog.lose(hold, 'the lock of the other library was lost');
    const old = take({ lost: this.#lose, isWanted: () => hold.state === 'held' });
    this.#old = old;
    const ended = (): void => {
      // the call's signal aborted, and the lock is still held
      if (hold.state === 'held') return;
      // `close` releases; after a loss the other lock expires, as the work may still run
      if (hold.reason === 'closed') void old.release();
      else old.leave();
    };
    super.signal.addEventListener('abort', ended, { once: true });
  }

  /** @internal */
  override get besides(): boolean {
    return true;
  }

  override get signal(): AbortSignal {
    this.#old.check();
    return super.signal;
  }

  override get held(): boolean {
    this.#old.check();
    return super.held && this.#old.remaining > 0;
  }

  override get state(): LeaseState {
    this.#old.check();
    const state = super.state;
    return state === 'held' && this.#old.remaining === 0 ? 'doubted' : state;
  }

  override get remaining(): number {
    return this.held ? Math.min(super.remaining, this.#old.remaining) : 0;
  }

  override async verify(): Promise<boolean> {
    while (await super.verify()) {
      if (!(await this.#old.verify())) return false;
      if (this.state !== 'doubted') return this.held;
    }
    return false;
  }

  override async extend(ms: number, options?: CallOptions): Promise<number> {
    checkMs(ms, 1);
    return unlessAborted(options, () => this.#extend(ms), this.key);
  }

  async #extend(ms: number): Promise<number> {
    checkEnd(this.hold, ms, this.#core.clock.now());
    try {
      await this.#old.extend(ms + MARGIN_MS);
    } catch (cause) {
      const message = `Holdfast: the other lock of ${quote(this.key)} was not extended: no answer`;
      throw new HoldfastError('HOLDFAST_UNCERTAIN', message, { key: this.key, cause });
    }
    return super.extend(ms);
  }

  /** Releases the other lock first, see {@link Lease.release}. */
  override release(options?: CallOptions): Promise<ReleaseOutcome> {
    // it checks the options, and calls again without them
    if (options !== undefined) return super.release(options);
    this.#released ??= this.#release();
    return this.#released;
  }

  async #release(): Promise<ReleaseOutcome> {
    this.#oldEnded ??= this.#endOld();
    await this.#oldEnded;
    try {
      return await super.release();
    } catch (error) {
      // a further call tells the result
      this.#released = undefined;
      throw error;
    }
  }

  async #endOld(): Promise<void> {
    this.#old.check();
    // it had ended: another program may have held the lock since
    if (!(await this.#old.release())) this.#lose();
  }
}
