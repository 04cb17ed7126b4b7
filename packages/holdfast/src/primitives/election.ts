/**
 * Leader election: a mutex whose holder stays, with words of its own. Strictly fair, so a term is
 * one lease of the store and its fence is the term's number.
 *
 *     lead: campaign --elected--> work --work ended--> resign --pause--> campaign ...
 *              \--store silent--> pause          \--term lost--> (wait for the work) --> campaign
 *     stop (signal, close): step down, wait for the work, resign, end
 */
import { onAbort } from '../abort.js';
import type { Core } from '../core.js';
import { badOption, isHoldfastError } from '../errors.js';
import { type HolderInfo, inspect } from '../inspection.js';
import type { Lease } from '../lease/lease.js';
import { duration, known } from '../checks.js';
import type { AcquireOptions, LockOptions } from '../options.js';
import { checkWork, Acquirer, plainLease, quietly } from './acquirer.js';
import { Leadership } from './leadership.js';
import { Pause } from './pause.js';
import { watchLeader } from './watch-leader.js';

/** What an election may be made with: see the same names in `LockOptions`. */
export type ElectionOptions = Pick<LockOptions, 'ttl' | 'label' | 'onExpiring' | 'expiringBefore'>;

/** What one candidature may say. */
export interface CampaignOptions {
  /** Longest time to wait. Default: no limit. */
  readonly wait?: number;
  /** Gives the candidature up. Has no effect on a term that has begun. */
  readonly signal?: AbortSignal;
}

/** What `lead` may be told. */
export interface LeadOptions {
  /** Stops it: the present term ends, and no other begins. */
  readonly signal?: AbortSignal;
  /** Ms between a term and the next candidature. 1 to 86,400,000; default 100. */
  readonly pause?: number;
  /** Hears why a candidature failed that is tried again after a pause: the store was silent. */
  readonly onFailure?: (error: unknown) => void;
}

/** What an observer may say. */
export interface ObserveOptions {
  /** Ends the observation. */
  readonly signal?: AbortSignal;
  /** Ms between two looks. 10 to 86,400,000; default 1,000. */
  readonly every?: number;
}

/** Who leads. */
export interface Leader {
  /** The candidature's id, unique for ever. */
  readonly id: string;
  /** See `Leadership.term`. */
  readonly term: number;
  /** What it was called, see `label` of the options. */
  readonly label: string | undefined;
  /** The machine's name. */
  readonly host: string | undefined;
  /** The process there. */
  readonly pid: number | undefined;
  /** Ms for which it has led. */
  readonly ledFor: number;
}

const DAY = 86_400_000;
const ELECTION = new Set<string>(['ttl', 'label', 'onExpiring', 'expiringBefore']);
const CAMPAIGN = new Set<string>(['wait', 'signal']);
const LEAD = new Set<string>(['signal', 'pause', 'onFailure']);
const OBSERVE = new Set<string>(['signal', 'every']);

/**
 * The election of a leader among all processes that use the same key.
 *
 * A leader is the holder of the lock of the key: a mutex of the same key excludes it.
 */
export class Election {
  /** What is led. */
  readonly key: string;
  readonly #core: Core;
  readonly #acquirer: Acquirer<Lease>;
  /** Observers of this object, who are told of its own terms at once. */
  readonly #observers = new Set<() => void>();

  /** @internal */
  constructor(core: Core, key: string, options: ElectionOptions) {
    known('options', options, ELECTION);
    this.key = key;
    this.#core = core;
    const lock = { ...options, fair: true, renew: true };
    this.#acquirer = new Acquirer(core, { key, capacity: 1 }, lock, plainLease);
  }

  /**
   * Waits until this is the leader.
   *
   * Whoever has the `Leadership` ends it with `resign` or `await using`. `close` of the `Holdfast`
   * aborts its signal and resigns at once: the next candidate leads within one hand-off. After a
   * crash it leads within one ttl.
   *
   * Cancellation: a `signal` that aborts, or a wait that ends, withdraws the candidature; a term
   * that was on its way is given back. Rejects as `Mutex.acquire` does.
   */
  async campaign(options: CampaignOptions = {}): Promise<Leadership> {
    known('options', options, CAMPAIGN);
    return this.#campaign(options, false);
  }

  /**
   * Campaigns again and again, and does the work in each term, until `signal` aborts or the
   * `Holdfast` closes; resolves then. The work should go on for as long as it leads, and end when
   * `leadership.signal` aborts; if it ends before, it resigns, and is a candidate again. Work that
   * ends because `leads` was false in a doubt is begun again in the same term if the term goes on.
   *
   * When it is stopped, the signal of the present term aborts, and the leadership is kept until the
   * work has ended: the next leader begins after it (`close` waits for `grace` at most). When the
   * lease is lost, nobody can wait: that is what `term` is for.
   *
   * Rejects with the work's own error, after resigning. An error of work whose term is over is
   * none if it is the signal's reason or an `AbortError`. A store that does not answer is tried
   * again; other failures of `campaign` reject.
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
        // it may have been stopped while the grant was on its way to this line
        if (stopped) await quietly(Promise.resolve(current?.resign()));
        else if (current !== undefined) await serve(current, work);
        current = undefined;
        if (!stopped) await rest.for(pause);
      }
    } finally {
      unbind?.();
      unhook();
    }
  }

  /**
   * Who leads, and who leads after each change: the first value comes at once, `null` stands for
   * nobody. Ends when `signal` aborts or the `Holdfast` closes.
   *
   * It looks every `every` ms, so it is late by that and one round trip at most; terms that began
   * and ended between two looks are not seen. Terms that begin or end through this object are seen
   * at once. One small command a look; nothing is stored for an observer.
   *
   * Throws `HOLDFAST_UNREACHABLE` when the store has not answered for `unreachableAfter` ms.
   */
  observe(options: ObserveOptions = {}): AsyncGenerator<Leader | null, void, undefined> {
    known('options', options, OBSERVE);
    const every = duration('every', options.every, 1000, 10, DAY);
    const signal = checkSignal(options.signal);
    const observers = this.#observers;
    return watchLeader(this.#core, () => this.leader(), { every, signal, observers });
  }

  /** Who leads now; `null` if nobody does. */
  async leader(): Promise<Leader | null> {
    const [holder] = (await inspect(this.#core, this.key, 1))?.holders ?? [];
    return holder === undefined ? null : leaderOf(holder);
  }

  async #campaign(options: AcquireOptions, clings: boolean): Promise<Leadership> {
    const lease = await this.#acquirer.acquire(1, options);
    return new Leadership(this.#core, lease, clings, () => {
      for (const tell of this.#observers) tell();
    });
  }

  /** A term, or `undefined` if there is none: stopped, or a failure that may pass. */
  async #elected(
    signal: AbortSignal | undefined,
    onFailure: LeadOptions['onFailure'],
  ): Promise<Leadership | undefined> {
    try {
      return await this.#campaign(signal === undefined ? {} : { signal }, true);
    } catch (error) {
      if (isHoldfastError(error, 'HOLDFAST_UNREACHABLE')) onFailure?.(error);
      else if (!signal?.aborted && !isHoldfastError(error, 'HOLDFAST_CLOSED')) throw error;
      return undefined;
    }
  }
}

/** Does the work of one term, and ends the term with it. */
async function serve(
  leadership: Leadership,
  work: (leadership: Leadership) => unknown,
): Promise<void> {
  try {
    do await work(leadership);
    while (await leadership.misled());
  } catch (error) {
    if (!endOf(leadership.signal, error)) throw error;
  } finally {
    await quietly(leadership.resign());
  }
}

/** True for the error with which work ends that watches its signal. */
function endOf({ aborted, reason }: AbortSignal, error: unknown): boolean {
  if (!aborted) return false;
  return error === reason || (error instanceof Error && error.name === 'AbortError');
}

function leaderOf({ id, fence, label, host, pid, heldFor }: HolderInfo): Leader {
  return { id, term: fence, label, host, pid, ledFor: heldFor };
}

function checkLead(options: LeadOptions): LeadOptions & { readonly pause: number } {
  known('options', options, LEAD);
  checkSignal(options.signal);
  if (options.onFailure !== undefined && typeof options.onFailure !== 'function') {
    throw badOption('onFailure', 'a function', options.onFailure);
  }
  return { ...options, pause: duration('pause', options.pause, 100, 1, DAY) };
}

function checkSignal(signal: unknown): AbortSignal | undefined {
  if (signal === undefined || signal instanceof AbortSignal) return signal;
  throw badOption('signal', 'an AbortSignal', signal);
}
