/**
 * One call that waits for a lease: its promise, and what ends with it. It settles once (I6).
 */
import { Link } from '../base/chain.js';
import type { Hold } from '../lease/root.js';
import type { LockKind } from '../engine/kinds.js';
import type { ResolvedAcquireOptions } from '../base/options.js';

/** The key, the permits and the options of an acquisition. */
export interface AcquireRequest {
  readonly key: string;
  readonly weight: number;
  readonly kind: LockKind;
  readonly capacity: number;
  /** The option that sets the capacity, if the user chooses it. */
  readonly option?: string | undefined;
  readonly terms: ResolvedAcquireOptions;
  /**
   * True if the lease stays in the store until its owner releases it, from this process or another
   * one: this process does not renew it.
   */
  readonly stays?: boolean;
  /** The end of its id, by which all processes know what asked for it. */
  readonly mark?: string;
  /**
   * True for a candidate in an election. Its lease is a term that other processes observe in the
   * store, so it is not handed on inside the process. It waits for as long as another one leads, so
   * a long wait is no warning.
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
  /** The granted lease. */
  hold: Hold | null = null;
  /** Set when the wait limit passed before the first answer: that answer decides. */
  overdue = false;
  #promise: Promise<Hold | null> | undefined;
  #resolve: ((hold: Hold | null | Promise<Hold | null>) => void) | undefined;
  #cleanups: (() => void)[] | undefined;

  constructor(request: AcquireRequest) {
    super();
    this.request = request;
  }

  /** The result. Made when it is first needed: a root has calls of its own, and needs none. */
  get promise(): Promise<Hold | null> {
    this.#promise ??= new Promise((resolve) => {
      this.#resolve = resolve;
    });
    return this.#promise;
  }

  /** Settles the result: before it is first read, or after. */
  #give(result: Hold | null | Promise<Hold | null>): void {
    if (this.#resolve === undefined) this.#promise = Promise.resolve(result);
    else this.#resolve(result);
  }

  /** Registers a callback for when it settles. */
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

  /** Ends the call; false if it has ended before. */
  protected settle(): boolean {
    if (this.settled) return false;
    this.settled = true;
    const cleanups = this.#cleanups;
    this.#cleanups = undefined;
    if (cleanups !== undefined) for (const cleanUp of cleanups) cleanUp();
    return true;
  }
}
