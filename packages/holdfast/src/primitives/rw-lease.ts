/**
 * A lease of a read-write lock, and how it changes sides.
 *
 *     write --downgrade--> read --tryUpgrade--> write, with a new fence
 *
 * What this process believes is never more than what the store has: it takes itself for a reader
 * from before it asks to be one, and for a writer after the store has said so (I7). A change that
 * was not answered is repeated before the next one is asked for, so that its late duplicate finds
 * another fence and changes nothing (I3).
 */
import type { Core } from '../core.js';
import { HoldfastError, isHoldfastError } from '../errors.js';
import { ask } from '../inspection.js';
import type { LeaseRecord } from '../lease/lease-record.js';
import { Lease } from '../lease/lease.js';
import { quote } from '../text.js';

/** Permits of a read-write lock: one for each reader, all of them for a writer. */
export const READER = 1;
export const WRITER: number = 2 ** 30;

/** Which side of a read-write lock a lease is on. */
export type RwMode = 'read' | 'write';

/** A granted read or write lock. It is one lease whichever side it is on, and is released once. */
export class RwLease extends Lease {
  readonly #record: LeaseRecord;
  readonly #core: Core;
  #mode: RwMode;
  /** The side that was asked for without an answer. */
  #unanswered: RwMode | undefined;
  /** Changes happen one after another. */
  #turn: Promise<unknown> = Promise.resolve();

  /** @internal */
  constructor(record: LeaseRecord, core: Core) {
    super(record, core);
    this.#record = record;
    this.#core = core;
    this.#mode = record.weight === WRITER ? 'write' : 'read';
  }

  /** What the lease allows while it is held: to read with others, or to write alone. */
  get mode(): RwMode {
    return this.#mode;
  }

  /**
   * Makes a writer a reader, and lets in at once who waits to read with it; of a reader it changes
   * nothing. The fence stays.
   *
   * Rejects with `HOLDFAST_REFUSED` if the owner holds the lock more than once (the other holds
   * rely on it), with `HOLDFAST_LOST` if the lease has ended, and with `HOLDFAST_UNCERTAIN` without
   * an answer: call it again then, or release. `mode` is `read` from the call on, unless it was
   * refused.
   */
  downgrade(): Promise<void> {
    return this.#inTurn(async () => {
      await this.#certainlyHeld();
      if (this.#unanswered === 'write') await this.#change('write');
      const settled = this.#mode === 'read' && this.#unanswered === undefined;
      if (settled && this.#record.weight === READER) return;
      const before = this.#mode;
      this.#mode = 'read';
      if (await this.#change('read')) return;
      this.#mode = before;
      const why = 'is held more than once by its owner: not downgraded';
      const message = `Holdfast: ${quote(this.key)} ${why}`;
      throw new HoldfastError('HOLDFAST_REFUSED', message, { key: this.key });
    });
  }

  /**
   * Makes a reader a writer if it is the only reader; resolves to `false`, and it stays a reader,
   * if it is not. It does not wait: two readers that waited for each other would do so for ever.
   * It goes before writers that wait, as they would have waited for this reader anyway. Of a writer
   * it changes nothing.
   *
   * The lease then has a new `fence`. Rejects with `HOLDFAST_LOST` if the lease has ended, and with
   * `HOLDFAST_UNCERTAIN` without an answer: it is a reader for us, and may block others like a
   * writer; call it again, downgrade, or release.
   */
  tryUpgrade(): Promise<boolean> {
    return this.#inTurn(async () => {
      await this.#certainlyHeld();
      if (this.#unanswered === 'read') await this.#change('read');
      if (this.#mode === 'write') return true;
      const changed = await this.#change('write');
      if (changed) this.#mode = 'write';
      return changed;
    });
  }

  #inTurn<T>(change: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(change);
    this.#turn = result.catch(() => undefined);
    return result;
  }

  /** Rejects unless the lease is held; waits for that to be certain. */
  async #certainlyHeld(): Promise<void> {
    await this.verify();
    this.assertHeld();
  }

  /** Asks the store; false if it refuses. */
  async #change(to: RwMode): Promise<boolean> {
    const { key, id, fence } = this.#record;
    const { retention } = this.#core.settings;
    const weight = to === 'write' ? WRITER : READER;
    const command = { op: 'resize', key, id, weight, fence, retention } as const;
    this.#unanswered = to;
    try {
      const reply = await ask(this.#core, command, 'HOLDFAST_UNCERTAIN');
      this.#unanswered = undefined;
      if (reply.status === 'absent') this.#core.watchdog.lose(this.#record, 'gone');
      else if (reply.status === 'resized') this.#record.resized(weight, reply.fence);
      await this.#certainlyHeld();
      return reply.status === 'resized';
    } catch (error) {
      // the server refused to carry it out, so nothing was changed
      if (isHoldfastError(error, 'HOLDFAST_REFUSED')) this.#unanswered = undefined;
      throw error;
    }
  }
}
