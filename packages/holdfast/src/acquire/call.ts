/**
 * One call that waits for a lease: its promise, its wait limit, and what ends with it. It settles
 * once (I6).
 *
 * It waits for the first answer of the store, for at most `requestTimeout`, also beyond its limit.
 * If no push can reach it at its limit, it asks once more: the lock may have become free since the
 * last answer. `HOLDFAST_TIMEOUT` means that the store answered, and that its last answer was no
 * failure.
 */
import { aborted, onAbort } from '../base/abort.js';
import { Link } from '../base/chain.js';
import type { Clock } from '../base/clock.js';
import type { HoldfastError } from '../base/errors.js';
import type { Hold } from '../lease/root.js';
import type { LockKind } from '../engine/kinds.js';
import type { ResolvedAcquireOptions } from '../base/options.js';
import * as failures from './failures.js';

export interface AcquireRequest {
  readonly key: string;
  readonly weight: number;
  readonly kind: LockKind;
  readonly capacity: number;
  readonly option?: string | undefined;
  readonly terms: ResolvedAcquireOptions;
  /** This process does not renew the lease. Its owner releases it, from this process or another. */
  readonly stays?: boolean;
  /** It may begin while the instance closes. */
  readonly closing?: boolean;
  /** The end of its id, by which all processes know what asked for it. */
  readonly mark?: string;
  /**
   * A candidate in an election. Other processes observe its lease in the store, so it is not handed
   * on inside the process. A long wait is usual, and no warning.
   */
  readonly candidate?: boolean | undefined;
  /**
   * For a caller that limits the wait itself: called with each failure, and with `undefined` for
   * each answer that leaves it in the queue.
   */
  readonly onProgress?: ((trouble: unknown) => void) | undefined;
  /**
   * Gives it a function for the end of that wait: asks if no push can arrive, and returns whether
   * to await an answer. Not for shared requests.
   */
  readonly onBegun?: ((ask: () => boolean) => void) | undefined;
}

/** What tells a call how it waits: its acquisition, or the queue whose acquisition it shares. */
export interface Waited {
  /** The store has answered, or another task here holds. */
  readonly heard: boolean;
  /** No push can tell of a grant: the store has answered and knows no channel yet. */
  readonly deaf: boolean;
  /** The request waits for its turn, see `Requests`, and the store has not answered before. */
  readonly unsent: boolean;
  readonly trouble: unknown;
  placeOf(call: object): failures.Place;
}

export class Call<W extends Waited = Waited> extends Link {
  readonly request: AcquireRequest;
  /** The queue of a task changes with its place in the queue of the store. */
  via: W;
  /** When the call began, on the local clock: it decides the place of a root. */
  readonly arrived: number;
  readonly promise: Promise<Hold | null>;
  settled = false;
  overdue = false;
  #resolve!: (hold: Hold | null | Promise<Hold | null>) => void;
  #cleanups: (() => void)[] | undefined;

  constructor(request: AcquireRequest, via: W, arrived: number) {
    super();
    this.request = request;
    this.via = via;
    this.arrived = arrived;
    this.promise = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  cleanUp(cleanUp: () => void): void {
    this.#cleanups ??= [];
    this.#cleanups.push(cleanUp);
  }

  /** @param first delays the result for the caller; the call itself settles now */
  grant(hold: Hold | null, first?: Promise<void>): void {
    if (this.#settle()) this.#resolve(first === undefined ? hold : first.then(() => hold));
  }

  fail(error: Error): void {
    if (this.#settle()) this.#resolve(Promise.reject(error));
  }

  #settle(): boolean {
    if (this.settled) return false;
    this.settled = true;
    const cleanups = this.#cleanups;
    this.#cleanups = undefined;
    if (cleanups !== undefined) for (const cleanUp of cleanups) cleanUp();
    return true;
  }
}

export interface Limits<W extends Waited> {
  giveUp(call: Call<W>, error: HoldfastError): void;
  /** The next answer of the store ends the call. */
  ask(call: Call<W>): void;
}

export function limitWait<W extends Waited>(call: Call<W>, clock: Clock, limits: Limits<W>): void {
  const { key, terms } = call.request;
  const { wait, signal } = terms;
  if (wait > 0 && wait !== Number.POSITIVE_INFINITY) {
    const timer = clock.after(wait, () => {
      const { heard, deaf, trouble, unsent } = call.via;
      if ((heard && !deaf) || trouble !== undefined || unsent) {
        return limits.giveUp(call, endOfWait(call));
      }
      call.overdue = true;
      limits.ask(call);
    });
    call.cleanUp(() => timer.cancel());
  }
  if (signal !== undefined) {
    const abort = (): void => limits.giveUp(call, aborted(key, signal.reason));
    call.cleanUp(onAbort(signal, abort));
  }
}

export function endOfWait(call: Pick<Call, 'request' | 'via'>): HoldfastError {
  const { via, request } = call;
  const { key, terms } = request;
  if (via.trouble !== undefined) return failures.unreachable(key, via.trouble);
  if (via.unsent) return failures.notSent(key, terms.wait);
  return failures.timedOut(key, terms.wait, via.placeOf(call));
}
