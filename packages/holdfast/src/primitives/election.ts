/**
 * Leader election: a mutex that is strictly fair, so each term is one lease of the store, and its
 * fence is the term's number.
 *
 *     lead: campaign --elected--> work --work ended--> resign --pause--> campaign ...
 *              \--store silent--> pause          \--term lost--> (wait for the work) --> campaign
 *     stop (signal, close): step down, wait for the work, resign, end
 */
import { onAbort } from '../base/abort.js';
import type { Core } from '../acquire/core.js';
import { isHoldfastError } from '../base/errors.js';
import { type HolderInfo, inspect } from './inspection.js';
import { Lease } from '../lease/lease.js';
import { checkCallback, checkSignal, duration, known } from '../base/checks.js';
import type { AcquireOptions, LockOptions } from '../base/options.js';
import { checkWork, Acquirer, quietly } from './acquirer.js';
import { Leadership } from './leadership.js';
import { Pause } from '../base/pause.js';
import { watchLeader } from './watch-leader.js';

/** See the same names in `LockOptions`. */
export type ElectionOptions = Pick<LockOptions, 'ttl' | 'label' | 'onExpiring' | 'expiringBefore'>;

export interface CampaignOptions {
  /** In ms. Default: no limit. */
  readonly wait?: number | undefined;
  /** Withdraws the candidature; a term that has begun goes on. */
  readonly signal?: AbortSignal | undefined;
}

export interface LeadOptions {
  /** Ends the current term; no other begins. */
  readonly signal?: AbortSignal | undefined;
  /** Ms between a term's end and the next candidature. 1 to 86,400,000; default 100. */
  readonly pause?: number | undefined;
  /**
   * Called with the error of a candidature that `lead` repeats after `pause`. `lead` rejects if
   * this function throws or rejects.
   */
  readonly onFailure?: ((error: unknown) => unknown) | undefined;
}

export interface ObserveOptions {
  readonly signal?: AbortSignal | undefined;
  /** Ms between two requests to the store. 10 to 86,400,000; default 1,000. */
  readonly every?: number | undefined;
}

/** The current leader, as an observer sees it. */
export interface Leader {
  /** See `Leadership.id`. */
  readonly id: string;
  /** See `Leadership.term`. */
  readonly term: number;
  readonly label: string | undefined;
  readonly host: string | undefined;
  /** The process id on its machine. */
  readonly pid: number | undefined;
  /** Ms since its term began. */
  readonly ledFor: number;
}

const DAY = 86_400_000;
const ELECTION = new Set<string>(['ttl', 'label', 'onExpiring', 'expiringBefore']);
const CAMPAIGN = new Set<string>(['wait', 'signal']);
const LEAD = new Set<string>(['signal', 'pause', 'onFailure']);
const OBSERVE = new Set<string>(['signal', 'every']);

/**
 * Elects one leader among all processes that use the same key. The leader holds the mutex of the
 * key, so it and a `Mutex` of that key exclude each other.
 */
export class Election {
  readonly key: string;
  readonly #core: Core;
  readonly #acquirer: Acquirer<Lease>;
  readonly #observers = new Set<() => void>();

  /** @internal */
  constructor(core: Core, key: string, options: ElectionOptions) {
    known('options', options, ELECTION);
    this.key = key;
    this.#core = core;
    const lock = { ...options, fair: true, renew: true };
    const subject = { key, kind: 'mutex', capacity: 1, candidate: true } as const;
    this.#acquirer = new Acquirer(core, subject, lock, Lease);
  }

  /**
   * Waits until the caller is elected.
   *
   * The caller ends the term with `resign` or `await using`. `close` of the `Holdfast` aborts the
   * term's signal and resigns at once: the next candidate leads after one hand-off, or within one
   * ttl after a crash.
   *
   * Cancellation: if `signal` aborts or the wait ends, the candidature is withdrawn; a term granted
   * meanwhile is released. Rejects as `Mutex.acquire` does.
   */
  async campaign(options: CampaignOptions = {}): Promise<Leadership> {
    known('options', options, CAMPAIGN);
    return this.#campaign(options, false);
  }

  /**
   * Campaigns repeatedly and does the work in each term, until `signal` aborts or the `Holdfast`
   * closes; then it resolves. The work should run for the whole term and end when
   * `leadership.signal` aborts. If it ends earlier, `lead` resigns and campaigns again. If its last
   * read of `leads` was false in a doubt, and the term continues, it is started again.
   *
   * When `lead` is stopped, the term's signal aborts, and the lease is kept until the work has
   * ended; the next leader starts after it (`close` waits at most `grace` ms). When the lease is
   * lost, the next leader does not wait for the work: use `term` to reject its late writes.
   *
   * Rejects with the work's own error, after resigning; if the term is over, the signal's reason,
   * an `AbortError`, a `HOLDFAST_ABORTED` with that cause, and `HOLDFAST_CLOSED` at a close do not
   * count. If the store does not reply to a candidature, or too few replicas have the grant, `lead`
   * repeats it; it rejects with the other errors of `campaign`.
   */
  async lead(work: (leadership: Leadership) => unknown, options: LeadOptions = {}): Promise<void> {
    checkWork(work);
    const { signal, pause, onFailure } = checkLead(options);
    const rest = new Pause(this.#core.clock);
    let stopped = signal?.aborted ?? false;
    let current: Leadership | undefined;
    const stop = (): void => {
      stopped = true;
      rest.wake();
    };
    const abort = (): void => {
      stop();
      current?.stepDown(signal?.reason);
    };
    const unbind = signal && onAbort(signal, abort);
    const unhook = this.#core.onClose(stop);
    try {
      while (!stopped) {
        current = await this.#elected(signal, onFailure);
        // `stop` may have run since the grant
        if (stopped) await quietly(Promise.resolve(current?.resign()));
        else if (current !== undefined) await this.#serve(current, work);
        current = undefined;
        if (!stopped) await rest.for(pause);
      }
    } finally {
      unbind?.();
      unhook();
    }
  }

  /**
   * Yields the current leader at once, and the new one after each change; `null`: there is none.
   * Ends when `signal` aborts or the `Holdfast` closes.
   *
   * Each poll is one small read-only command. A change is seen at most `every` ms and one round
   * trip late, and terms between two polls are missed. Terms of this object are seen at once.
   *
   * Throws `HOLDFAST_UNREACHABLE` when the store has not replied for `unreachableAfter` ms.
   */
  observe(options: ObserveOptions = {}): AsyncGenerator<Leader | null, void, undefined> {
    known('options', options, OBSERVE);
    const every = duration('every', options.every, 1000, 10, DAY);
    const signal = checkSignal(options.signal);
    const watching = { every, signal, observers: this.#observers };
    return watchLeader(this.#core, this.key, () => this.leader(), watching);
  }

  async leader(): Promise<Leader | null> {
    const [holder] = (await inspect(this.#core, this.key, 1))?.holders ?? [];
    return holder === undefined ? null : leaderOf(holder);
  }

  async #campaign(options: AcquireOptions, resignsItself: boolean): Promise<Leadership> {
    const lease = await this.#acquirer.acquire(1, options);
    return new Leadership(this.#core, lease, resignsItself, () => {
      for (const tell of this.#observers) tell();
    });
  }

  /** `undefined` if `lead` was stopped, or has to try again. */
  async #elected(
    signal: AbortSignal | undefined,
    onFailure: LeadOptions['onFailure'],
  ): Promise<Leadership | undefined> {
    try {
      return await this.#campaign(signal === undefined ? {} : { signal }, true);
    } catch (error) {
      // a missing replica may be back at the next candidature
      const isOutage =
        isHoldfastError(error, 'HOLDFAST_UNREACHABLE') ||
        isHoldfastError(error, 'HOLDFAST_UNACKNOWLEDGED');
      if (isOutage) await onFailure?.(error);
      else if (!signal?.aborted && !isHoldfastError(error, 'HOLDFAST_CLOSED')) throw error;
      return undefined;
    }
  }

  async #serve(leadership: Leadership, work: (leadership: Leadership) => unknown): Promise<void> {
    try {
      do await work(leadership);
      while (await leadership.wasInDoubt());
    } catch (error) {
      // after `signal` has aborted, a close can still end the work
      const isClosed = this.#core.closing && isHoldfastError(error, 'HOLDFAST_CLOSED');
      if (!isClosed && !wasCausedBy(leadership.signal, error)) throw error;
    } finally {
      await quietly(leadership.resign());
    }
  }
}

function wasCausedBy({ aborted, reason }: AbortSignal, error: unknown): boolean {
  if (!aborted) return false;
  const cause = isHoldfastError(error, 'HOLDFAST_ABORTED') ? error.cause : error;
  // `includes` also finds NaN
  if ([error, cause].includes(reason)) return true;
  return error instanceof Error && error.name === 'AbortError';
}

function leaderOf({ id, fence, label, host, pid, heldFor }: HolderInfo): Leader {
  return { id, term: fence, label, host, pid, ledFor: heldFor };
}

function checkLead(options: LeadOptions): LeadOptions & { readonly pause: number } {
  known('options', options, LEAD);
  checkSignal(options.signal);
  checkCallback('onFailure', options.onFailure);
  return { ...options, pause: duration('pause', options.pause, 100, 1, DAY) };
}
