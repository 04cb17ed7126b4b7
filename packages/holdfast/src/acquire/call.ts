/**
 * One call that waits for a lease: its promise, its wait limit, and what ends with it. It settles
 * once (I6).
 *
 * It waits for the first answer of the store, for at most `requestTimeout`, also beyond its limit.
 * If no push can reach it at its limit, it asks once more: the lock may have become free since the
 * last answer. `HOLDFAST_TIMEOUT` means that the store answered, and that its last answer was no
 * failure; or that the request still waited for its turn, see `Requests`.
 */
import { aborted, onAbort } from '../base/abort.js';
import { Link } from '../base/chain.js';
import type { Clock } from '../base/clock.js';
import type { HoldfastError } from '../base/errors.js';
import type { Hold } from '../lease/root.js';
import type { LockKind } from '../engine/kinds.js';
import type { ResolvedAcquireOptions } from '../base/options.js';
import * as failures from './failures.js';
import type { RootQueue } from './root-queue.js';

export interface AcquireRequest {
  readonly key: string;
  readonly weight: number;
  readonly kind: LockKind;
  readonly capacity: number;
  /** The option that sets the capacity, if the user chooses it. */
  readonly option?: string | undefined;
  readonly terms: ResolvedAcquireOptions;
  /**
   * The lease stays in the store until its owner releases it, from this process or another one:
   * this process does not renew it.
   */
  readonly stays?: boolean;
  /** The end of its id, by which all processes know what asked for it. */
  readonly mark?: string;
  /**
   * A candidate in an election. Its lease is a term that other processes observe in the store, so
   * it is not handed on inside the process. It waits for as long as another one leads, so a long
   * wait is no warning.
   */
  readonly candidate?: boolean | undefined;
  /**
   * Called with each failure, and with `undefined` for each answer that leaves it in the queue. For
   * a caller that limits the wait itself.
   */
  readonly onProgress?: ((trouble: unknown) => void) | undefined;
}

export class Call extends Link {
  readonly request: AcquireRequest;
  settled = false;
  hold: Hold | null = null;
  /** The wait limit has passed and the next answer decides. */
  overdue = false;
  #promise: Promise<Hold | null> | undefined;
  #resolve: ((hold: Hold | null | Promise<Hold | null>) => void) | undefined;
  #cleanups: (() => void)[] | undefined;

  constructor(request: AcquireRequest) {
    super();
    this.request = request;
  }

  /** Made when first needed: a root has calls of its own, and needs none. */
  get promise(): Promise<Hold | null> {
    this.#promise ??= new Promise((resolve) => {
      this.#resolve = resolve;
    });
    return this.#promise;
  }

  /** Settles the result before it is first read, or after. */
  #give(result: Hold | null | Promise<Hold | null>): void {
    if (this.#resolve === undefined) this.#promise = Promise.resolve(result);
    else this.#resolve(result);
  }

  cleanUp(cleanUp: () => void): void {
    this.#cleanups ??= [];
    this.#cleanups.push(cleanUp);
  }

  /** @param first delays the result for the caller; the call itself settles now */
  grant(hold: Hold | null, first?: Promise<void>): void {
    if (!this.settle()) return;
    this.hold = hold;
    this.#give(first === undefined ? hold : first.then(() => hold));
  }

  fail(error: Error): void {
    if (this.settle()) this.#give(Promise.reject(error));
  }

  /** False if it has ended before. */
  protected settle(): boolean {
    if (this.settled) return false;
    this.settled = true;
    const cleanups = this.#cleanups;
    this.#cleanups = undefined;
    if (cleanups !== undefined) for (const cleanUp of cleanups) cleanUp();
    return true;
  }
}

/**
 * One call that waits for a root, see `root-queue.ts`. Its wait limit and its abort signal end only
 * this call; the root goes on while another task waits.
 */
export class Task extends Call {
  queue: RootQueue;
  /** When the call began, on the local clock: it decides the place of the root. */
  readonly arrived: number;

  constructor(request: AcquireRequest, queue: RootQueue, now: number) {
    super(request);
    this.queue = queue;
    this.arrived = now;
  }

  /** The store has answered for its root, or another task of this process holds. */
  get heard(): boolean {
    return this.queue.heard;
  }

  /** See `Acquisition.deaf`. */
  get deaf(): boolean {
    return this.queue.entry?.deaf === true;
  }

  /** See `Acquisition.unsent`. */
  get unsent(): boolean {
    return this.queue.entry?.unsent === true;
  }

  get place(): failures.Place {
    const { entry, root } = this.queue;
    return { ticket: entry?.ticket ?? 0, before: this.queue.before(this), holder: root?.hold };
  }

  /** See `Acquisition.trouble`. */
  get trouble(): unknown {
    return this.queue.entry?.trouble;
  }
}

/** A call, and how the store has answered for it. */
type Waiting = Call & {
  readonly heard: boolean;
  readonly deaf: boolean;
  readonly trouble: unknown;
  readonly unsent: boolean;
  readonly place: failures.Place;
};

/**
 * `giveUp` is called at most once. `ask`: the limit has passed, and the next answer of the store
 * ends the call.
 */
export function limitWait<W extends Waiting>(
  call: W,
  clock: Clock,
  giveUp: (call: W, error: HoldfastError) => void,
  ask: (call: W) => void,
): void {
  const { key, terms } = call.request;
  const { wait, signal } = terms;
  if (wait > 0 && wait !== Number.POSITIVE_INFINITY) {
    const timer = clock.after(wait, () => {
      const isKnown = call.heard && !call.deaf;
      if (isKnown || call.trouble !== undefined || call.unsent)
        return giveUp(call, endOfWait(call));
      call.overdue = true;
      ask(call);
    });
    call.cleanUp(() => timer.cancel());
  }
  if (signal !== undefined) {
    const abort = (): void => giveUp(call, aborted(key, signal.reason));
    call.cleanUp(onAbort(signal, abort));
  }
}

export function endOfWait({ trouble, request, place }: Waiting): HoldfastError {
  const { key, terms } = request;
  if (trouble !== undefined) return failures.unreachable(key, trouble);
  return failures.timedOut(key, terms.wait, place);
}
