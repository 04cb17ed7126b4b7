/** What a holder holds. */
import type { Clock } from '../clock.js';
import { badOption, HoldfastError } from '../errors.js';
import { duration } from '../checks.js';
import type { LeaseRecord } from './lease-record.js';
import type { Watchdog } from './watchdog.js';
import { type LeaseState, notHeld } from './lease-state.js';
import { quote } from '../text.js';

/**
 * What a release found:
 *
 * - `freed`: the lock was held until now, and is free or the next waiter's.
 * - `kept`: this hold is over, and the owner has others; the lock stays held.
 * - `lost`: the lease had ended before. Nothing was freed, and nobody else's lease was touched.
 */
export type ReleaseOutcome = 'freed' | 'kept' | 'lost';

/** What a lease needs of whoever granted it. */
export interface Grantor {
  readonly clock: Clock;
  readonly watchdog: Watchdog;
  release(record: LeaseRecord): Promise<ReleaseOutcome>;
}

/** A lease that is given up at a condition, until it comes back. */
interface Away {
  /** What its signal goes on with. */
  readonly controller: AbortController;
  /** Gives the coming back up. */
  readonly abandon: () => void;
  readonly over: Promise<void>;
  readonly end: () => void;
}

const LONGEST_MS = 86_400_000;
/** How often more is asked for, when less than was asked for is left at the answer. */
const EXTENSIONS_MAX = 3;

/**
 * A granted lock. It is owned by this object: neither the process nor the client nor an ambient id
 * can release it.
 *
 * While it is held it is renewed (unless `renew: false`), until it is released, lost, or `maxHold`
 * has passed.
 *
 * Waiting at a condition gives the lock up and takes it back: this object, and its `signal`, stay
 * the same, while `id` and `fence` are then those of a new acquisition.
 */
export class Lease implements AsyncDisposable {
  #record: LeaseRecord;
  readonly #grantor: Grantor;
  #away: Away | undefined;
  #released: Promise<ReleaseOutcome> | undefined;

  /** @internal */
  constructor(record: LeaseRecord, grantor: Grantor) {
    this.#record = record;
    this.#grantor = grantor;
  }

  /** What is locked. */
  get key(): string {
    return this.#record.key;
  }

  /** The acquisition's id, unique for ever; another one after waiting at a condition. */
  get id(): string {
    return this.#record.id;
  }

  /**
   * A number greater than that of every earlier lease of this key: for the protected resource,
   * which refuses whatever comes with a smaller number than it has seen. Microseconds of the
   * server's clock or more; a safe integer. A greater one after waiting at a condition: ask for it
   * when it is needed.
   */
  get fence(): number {
    return this.#record.fence;
  }

  /**
   * How many holds the owner has, this one among them, as the store last told this process: when it
   * granted or released a hold of this owner here. 1 without `owner`; 0 once this lease is released
   * or lost. Holds that other processes took or released since are not counted: for those ask
   * `calls.holds`.
   */
  get holds(): number {
    return this.#away === undefined && this.#record.state === 'held' ? this.#record.holds : 0;
  }

  /**
   * Aborts when the lease is lost for good: the store does not know it any more, or its time is
   * over on this machine's monotonic clock and no answer that has arrived extends it. Its time is
   * over before the server gives the lock to another, whether or not the server can be reached. The
   * reason is a `HOLDFAST_LOST` error. It does not abort on release, nor while the lease is in
   * doubt.
   *
   * While the event loop stands still nothing can abort. Code that comes back from long synchronous
   * work asks `held`.
   */
  get signal(): AbortSignal {
    if (this.#away !== undefined) return this.#away.controller.signal;
    return this.#record.signal;
  }

  /**
   * True while the lock is surely held: asked of the clock, not remembered.
   *
   * It is false from the lease's end on the monotonic clock on, and while the lease is in doubt:
   * the wall clock went forward by more than a second without the monotonic clock, as it does when
   * the machine slept (and when it was set). In doubt the lease is not lost, and nothing is
   * believed; after one answer of the store it is held again, or lost. `verify` waits for that.
   */
  get held(): boolean {
    return this.#away === undefined && this.#grantor.watchdog.believes(this.#record);
  }

  /** How the lease stands, asked of the clock. */
  get state(): LeaseState {
    if (this.#away !== undefined) return 'parked';
    const believed = this.#grantor.watchdog.believes(this.#record);
    if (this.#record.state !== 'held') return this.#record.state;
    return believed ? 'held' : 'doubted';
  }

  /**
   * Resolves to `held` once that is certain: at once, unless the lease is in doubt; then when the
   * store has answered, or the lease has ended on the monotonic clock. Never rejects.
   */
  async verify(): Promise<boolean> {
    return this.#away === undefined && this.#grantor.watchdog.verified(this.#record);
  }

  /** Milliseconds for which the lock is surely held without another renewal. 0 if it is not. */
  remaining(): number {
    return this.held ? this.#record.remaining : 0;
  }

  /**
   * Throws unless `held`: `HOLDFAST_UNCERTAIN` for a lease in doubt, which may be held (`await
   * verify()` and ask again), and `HOLDFAST_LOST` for one that is lost, released or given up at a
   * condition.
   */
  assertHeld(): void {
    if (!this.held) throw this.#notHeld();
  }

  /**
   * Makes sure that the lock is held for at least `ms` from now, and asks the store if it must.
   * Resolves to `remaining()`. Rejects with `HOLDFAST_LOST` if the lease has ended, with
   * `HOLDFAST_UNCERTAIN` if the store did not answer (the lease is what it was) or answers so
   * slowly that less is left when it has (the lease is held), and with `HOLDFAST_BAD_OPTION` beyond
   * `maxHold`.
   */
  async ensure(ms: number): Promise<number> {
    needed(ms, 0);
    const left = this.remaining();
    return left > 0 && left >= ms ? left : this.extend(Math.max(1, ms));
  }

  /**
   * Extends the lease to at least `ms` from now (never shortens it). Resolves and rejects as
   * `ensure` does.
   */
  async extend(ms: number): Promise<number> {
    needed(ms, 1);
    // an answer that takes too long leaves less than was asked for: then more is asked for
    let late = 0;
    for (let tries = 0; tries < EXTENSIONS_MAX; tries++) {
      const asked = this.#grantor.clock.now();
      const left = await this.#extend(ms, late);
      if (left >= ms) return left;
      late = 2 * (this.#grantor.clock.now() - asked);
    }
    const message =
      `Holdfast: "${this.key}" was not extended to ${ms} ms: the store answers too slowly; ` +
      `it is held for ${Math.floor(this.remaining())} ms`;
    throw new HoldfastError('HOLDFAST_UNCERTAIN', message, { key: this.key });
  }

  /** Asks the store for `ms` from now and `more`. Resolves to what is left. */
  async #extend(ms: number, more: number): Promise<number> {
    if (this.#away !== undefined) throw this.#notHeld();
    const record = this.#record;
    const { clock, watchdog } = this.#grantor;
    if (clock.now() + ms > record.holdUntil) {
      const { maxHold } = record.terms;
      const message = `Holdfast: option "ms" must not go beyond maxHold (${maxHold} ms)`;
      throw new HoldfastError('HOLDFAST_BAD_OPTION', message, { option: 'ms', key: record.key });
    }
    // one whose time is over may be extended by an answer that has arrived; the doubt after a sleep
    // ends with the answer to this
    if (clock.now() >= record.validUntil) await watchdog.verified(record);
    if (record.state !== 'held') throw this.#notHeld();
    try {
      // asks for the margin too, so that what is left after it is what was asked for
      const status = await watchdog.renew(record, (ms + more) * 1.02 + 10);
      if (status === 'absent' && record.confirmed) watchdog.lose(record, 'gone');
    } catch (cause) {
      const message = `Holdfast: no answer to the extension of ${quote(record.key)}`;
      throw new HoldfastError('HOLDFAST_UNCERTAIN', message, { key: record.key, cause });
    }
    if (!this.held) throw this.#notHeld();
    return this.remaining();
  }

  /**
   * Gives the lock back, and hands it to the next waiter. Says whether it freed the lock.
   *
   * Repeating it answers the same. After the call this process neither extends nor revives the
   * lease, and no repetition can touch a newer lease of the key. Rejects with `HOLDFAST_UNCERTAIN`
   * if the store does not answer; it is tried further in the background until the lease has ended
   * by itself.
   *
   * While it waits at a condition, this gives the waiting up, and the lock is not taken back.
   */
  release(): Promise<ReleaseOutcome> {
    this.#released ??= this.#away === undefined ? this.#release() : this.#abandon(this.#away);
    return this.#released;
  }

  /**
   * Releases at the end of an `await using` block. A lock that was lost is no error here: ask
   * `held`, or `signal`.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }

  /**
   * Why it is not held: the reason of its signal, if that has aborted.
   * @internal
   */
  get loss(): HoldfastError {
    const { aborted, reason } = this.signal;
    return aborted ? (reason as HoldfastError) : this.#notHeld();
  }

  /** @internal */
  get record(): LeaseRecord {
    return this.#record;
  }

  /** @internal */
  grantedBy(grantor: Grantor): boolean {
    return this.#grantor === grantor;
  }

  /**
   * Holds nothing from here on, until it comes back.
   * @internal
   */
  goAway(abandon: () => void): void {
    let end = (): void => undefined;
    const over = new Promise<void>((resolve) => {
      end = resolve;
    });
    this.#away = { controller: this.#record.detach(), abandon, over, end };
  }

  /**
   * Goes on with another grip, or with one that is lost.
   * @internal
   */
  comeBack(record: LeaseRecord): void {
    const away = this.#away as Away;
    this.#away = undefined;
    this.#record = record;
    record.attach(away.controller);
    away.end();
  }

  #release(): Promise<ReleaseOutcome> {
    return this.#grantor.release(this.#record);
  }

  /** It may come back all the same, if it was granted by now. */
  async #abandon({ abandon, over }: Away): Promise<ReleaseOutcome> {
    abandon();
    await over;
    return this.#release();
  }

  #notHeld(): HoldfastError {
    return notHeld(this.#record, this.#away !== undefined);
  }
}

function needed(ms: unknown, least: number): void {
  // there is no default
  if (ms === undefined) throw badOption('ms', 'a number of milliseconds', ms);
  duration('ms', ms, 0, least, LONGEST_MS);
}
