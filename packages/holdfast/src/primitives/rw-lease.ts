/**
 * A lease of a read-write lock, and how it changes between read and write.
 *
 *     write --downgrade--> read --tryUpgrade--> write, with a new fence
 *
 * `mode` never allows more than the store does: it becomes `read` before the request is sent, and
 * `write` only after the reply (I7). Changes are numbered, so a late duplicate of an earlier one
 * has no effect, also if that was refused (I3).
 */
import type { Core } from '../acquire/core.js';
import { HoldfastError, isHoldfastError } from '../base/errors.js';
import { ask } from './inspection.js';
import type { Hold } from '../lease/root.js';
import { Lease } from '../lease/lease.js';
import { quote } from '../base/text.js';

export const READER = 1;
export const WRITER: number = 2 ** 30;

export type RwMode = 'read' | 'write';

/** A read or write lock. It stays one lease when its side changes, and is released once. */
export class RwLease extends Lease {
  readonly #hold: Hold;
  readonly #core: Core;
  #mode: RwMode;
  /** The requested side, without a reply. */
  #unanswered: RwMode | undefined;
  #turn: Promise<unknown> = Promise.resolve();

  /** @internal */
  constructor(hold: Hold, core: Core, mode?: RwMode) {
    super(hold, core);
    this.#hold = hold;
    this.#core = core;
    this.#mode = mode ?? (hold.root.weight === WRITER ? 'write' : 'read');
  }

  /**
   * For another process: the weight that the store may have.
   * @internal
   */
  get side(): { readonly mode: RwMode; readonly weight: number } {
    const weight = this.#unanswered === undefined ? this.#hold.root.weight : WRITER;
    return { mode: this.#mode, weight };
  }

  /** `read` is shared with other readers, `write` is exclusive. */
  get mode(): RwMode {
    return this.#mode;
  }

  /**
   * Changes a write lock to a read lock with the same fence, and grants the readers at the head of
   * the queue. No effect on a read lock.
   *
   * Rejects with `HOLDFAST_REFUSED` if the lease has more than one hold (the others need the write
   * lock), with `HOLDFAST_LOST` if the lease has ended, and with `HOLDFAST_UNCERTAIN` if the store
   * does not reply: then call it again, or release. `mode` is `read` from the call on, unless the
   * change is refused.
   */
  downgrade(): Promise<void> {
    return this.#inTurn(async () => {
      await this.certainlyHeld();
      const settled = this.#mode === 'read' && this.#unanswered === undefined;
      if (settled && this.#hold.root.weight === READER) return;
      const before = this.#mode;
      this.#mode = 'read';
      const isChanged = await this.#change('read').catch((error: unknown) => {
        if (isHoldfastError(error, 'HOLDFAST_REFUSED')) this.#mode = before;
        throw error;
      });
      if (isChanged) return;
      this.#mode = before;
      const why = 'it has more than one hold; release the other holds first';
      const message = `Holdfast: ${quote(this.key)} was not downgraded: ${why}`;
      throw new HoldfastError('HOLDFAST_REFUSED', message, { key: this.key });
    });
  }

  /**
   * Changes a read lock to a write lock, with a new `fence`, if it is the only reader; otherwise
   * resolves to `false`, and nothing changes. It does not wait, because two readers that wait for
   * each other would deadlock. It overtakes waiting writers, which wait for this reader in any
   * case. No effect on a write lock.
   *
   * Rejects with `HOLDFAST_LOST` if the lease has ended, and with `HOLDFAST_UNCERTAIN` if the store
   * does not reply: `mode` stays `read`, but the lease may block others like a writer. Then call it
   * again, downgrade, or release.
   */
  tryUpgrade(): Promise<boolean> {
    return this.#inTurn(async () => {
      await this.certainlyHeld();
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

  async #change(to: RwMode): Promise<boolean> {
    const { key, id } = this.#hold;
    const seq = (this.#hold.root.extras.changes += 1);
    const { retention } = this.#core.settings;
    const weight = to === 'write' ? WRITER : READER;
    const grows = to === 'write' ? { grows: this.#hold.root.ttl } : {};
    const command = { op: 'resize', key, id, weight, seq, retention, ...grows } as const;
    const before = this.#unanswered;
    this.#unanswered = to;
    try {
      const reply = await ask(this.#core, command, 'HOLDFAST_UNCERTAIN');
      this.#unanswered = undefined;
      if (reply.status === 'absent') this.#core.watchdog.lose(this.#hold, 'gone');
      else if (reply.status === 'resized') this.#hold.root.resized(weight, reply.fence);
      await this.certainlyHeld();
      return reply.status === 'resized';
    } catch (error) {
      // the server did not run the command
      if (isHoldfastError(error, 'HOLDFAST_REFUSED')) this.#unanswered = before;
      throw error;
    }
  }
}
