/**
 * How `BothLocks` acquires:
 *
 *     wait for the Holdfast lease --granted--> poll the lock of the other library --taken--> held
 *        ^-------------------- the lease was lost meanwhile ---/
 *
 * All acquirers take the two locks in this order, and the old programs only the second one, so
 * there is no deadlock. One process at a time polls.
 */
import { aborted, onAbort } from '../../base/abort.js';
import * as failures from '../../acquire/failures.js';
import { checkKey } from '../../base/checks.js';
import { badOption, HoldfastError } from '../../base/errors.js';
import { HoldfastCore } from '../holdfast-core.js';
import { drift, type Moment, SuspendDetector } from '../../lease/local-time.js';
import { Lease } from '../../lease/lease.js';
import type { AcquireOptions, LockOptions, ResolvedAcquireOptions } from '../../base/options.js';
import { Pause } from '../../base/pause.js';
import { Acquirer, checkWork, quietly, workUnder } from '../../primitives/acquirer.js';
import { isRefusal } from '../../store/port.js';
import { quote } from '../../base/text.js';
import { BothLease } from './both-lease.js';
import { OldHold, type OldHoldEvents, type OldHoldParts } from './old-hold.js';
import { OldLock } from './old-lock.js';

export type BothLocksOptions = Omit<LockOptions, 'sharedBy' | 'renew'>;
export type BothAcquireOptions = Omit<AcquireOptions, 'sharedBy' | 'renew'>;

/** The least pause between two attempts to take the other lock; the longest is twice that. */
const POLL_MS = 50;

/** A mutex that also holds the lock of another library. */
export class BothLocks {
  readonly key: string;
  readonly #acquirer: Acquirer<Lease>;
  readonly #old: OldLock;
  readonly #suspend: SuspendDetector;

  /** @internal */
  constructor(holdfast: HoldfastCore, key: string, old: OldLock, options: BothLocksOptions) {
    if (!(holdfast instanceof HoldfastCore)) {
      throw badOption('holdfast', 'a HoldfastCore or a Holdfast', holdfast);
    }
    if (!(old instanceof OldLock)) {
      throw badOption('old', 'the result of redlock(), redisSemaphore() or redisson()', old);
    }
    const { core } = holdfast;
    this.key = checkKey(key);
    this.#acquirer = new Acquirer(core, { key, kind: 'mutex', capacity: 1 }, options, Lease);
    this.#old = old;
    this.#suspend = new SuspendDetector(core.clock);
    this.#terms({}, 0);
  }

  /**
   * Acquires both locks as `Mutex.acquire` does. The lease is lost as soon as either lock is lost.
   */
  async acquire(options: BothAcquireOptions = {}): Promise<Lease> {
    const terms = this.#terms(options, Number.POSITIVE_INFINITY);
    const lease = await this.#both(options, terms, true);
    if (lease !== null) return lease;
    const held = `a holder of the other library has ${quote(this.#old.key)}`;
    const message = `Holdfast: ${quote(this.key)} was not granted within ${terms.wait} ms; ${held}`;
    throw new HoldfastError('HOLDFAST_TIMEOUT', message, { key: this.key });
  }

  /** Acquires both locks as `Mutex.tryAcquire` does. */
  async tryAcquire(options: BothAcquireOptions = {}): Promise<Lease | null> {
    return this.#both(options, this.#terms(options, 0), false);
  }

  /** Does the work under both locks as `Mutex.run` does. */
  async run<T>(
    work: (lease: Lease) => T | Promise<T>,
    options: BothAcquireOptions = {},
  ): Promise<T> {
    checkWork(work);
    const { core, key } = this.#acquirer;
    return core.telemetry.run(key, async () =>
      workUnder(await this.acquire(options), work, options.signal),
    );
  }

  #terms(options: BothAcquireOptions, wait: number): ResolvedAcquireOptions {
    const terms = this.#acquirer.terms(options, wait);
    if (terms.owner !== '')
      throw badOption('sharedBy', 'left out beside another library', terms.owner);
    if (!terms.renew) throw badOption('renew', 'true beside another library', terms.renew);
    return terms;
  }

  /** @param throws to reject if the Holdfast lease is not granted in time */
  async #both(
    options: BothAcquireOptions,
    terms: ResolvedAcquireOptions,
    throws: boolean,
  ): Promise<Lease | null> {
    const { clock } = this.#acquirer.core;
    const until = clock.now() + terms.wait;
    for (;;) {
      const wait = Math.max(0, until - clock.now());
      const limited = { ...options, wait };
      const lease = throws
        ? await this.#acquirer.acquire(1, limited)
        : await this.#acquirer.tryAcquire(1, limited);
      if (lease === null) return null;
      const found = await this.#beside(lease, terms, until).catch(async (error: unknown) => {
        await quietly(lease.release());
        throw error;
      });
      if (found !== 'again') return found;
    }
  }

  /** `again` if the lease was lost meanwhile. */
  async #beside(
    lease: Lease,
    terms: ResolvedAcquireOptions,
    until: number,
  ): Promise<BothLease | null | 'again'> {
    const { core } = this.#acquirer;
    const pause = new Pause(core.clock);
    let isClosed = false;
    const unhook = core.onClose(() => {
      isClosed = true;
      pause.wake();
    });
    const { signal } = terms;
    const unfollow = signal === undefined ? undefined : onAbort(signal, () => pause.wake());
    const check = (): void => {
      if (isClosed) throw failures.closed(this.key);
      if (signal?.aborted) throw aborted(this.key, signal.reason);
    };
    try {
      return await this.#poll(lease, terms, until, async () => {
        check();
        await pause.for(POLL_MS * (1 + core.settings.randomSource.fraction()));
        check();
      });
    } finally {
      unhook();
      unfollow?.();
    }
  }

  async #poll(
    lease: Lease,
    { ttl }: ResolvedAcquireOptions,
    until: number,
    pause: () => Promise<void>,
  ): Promise<BothLease | null | 'again'> {
    const { core } = this.#acquirer;
    const { clock, settings } = core;
    const { requestTimeout, unreachableAfter } = settings;
    const suspend = this.#suspend;
    const holder = `holdfast-${core.nextId()}:1`;
    const parts = { lock: this.#old, holder, ttl, clock, suspend, requestTimeout };
    let trouble: unknown;
    let heardAt = clock.now();
    try {
      while (await lease.verify()) {
        const sent = suspend.moment();
        try {
          const vote = await this.#old.take(clock, requestTimeout, holder, ttl);
          trouble = undefined;
          heardAt = clock.now();
          // an answer that took longer than the lock lasts is useless
          const usable = suspend.toLocal(sent) + ttl - drift(ttl) > clock.now();
          if (vote === 1 && usable) return this.#hold(lease, parts, sent);
          if (vote === 1) {
            trouble = new Error('the answer took longer than the lock lasts');
            void quietly(this.#old.release(clock, requestTimeout, holder));
          }
        } catch (error) {
          trouble = error;
          if (isRefusal(error)) throw failures.refusedByServer(this.key, error);
        }
        const isOver = clock.now() >= until;
        if (trouble !== undefined && (isOver || clock.now() - heardAt >= unreachableAfter)) {
          throw failures.unreachable(this.key, trouble);
        }
        if (isOver) break;
        await pause();
      }
    } catch (error) {
      void quietly(this.#old.release(clock, requestTimeout, holder));
      throw error;
    }
    // a minority of several servers may have granted it
    if (trouble !== undefined || this.#old.hasSeveral) {
      void quietly(this.#old.release(clock, requestTimeout, holder));
    }
    const isHeld = lease.held;
    await quietly(lease.release());
    return isHeld ? null : 'again';
  }

  #hold({ hold }: Lease, parts: OldHoldParts, sent: Moment): BothLease {
    const { core } = this.#acquirer;
    core.telemetry.unwatch(hold);
    return new BothLease(hold, core, (events: OldHoldEvents) => new OldHold(parts, sent, events));
  }
}
