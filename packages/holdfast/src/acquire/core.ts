/**
 * Creates the parts of one `Holdfast` and connects them: requests, watchdog, acquisitions,
 * cleanup. The primitives use it to acquire, release and close. Parts that only some primitives
 * need are created at their first use.
 */
import { hostname } from 'node:os';
import type { Clock } from '../base/clock.js';
import type { CorePart, PartHost } from './core-part.js';
import { Ids } from '../base/ids.js';
import type { Hold, Root } from '../lease/root.js';
import { Watchdog } from '../lease/watchdog.js';
import type { Grantor, ReleaseOutcome } from '../lease/lease.js';
import { SuspendDetector } from '../lease/suspend-detector.js';
import type { RunMessage } from '../observe/messages.js';
import type { Settings } from '../base/options.js';
import type { Store } from '../store/port.js';
import { Requests } from '../store/requests.js';
import type { Wake } from '../store/wake-channel.js';
import { LateDuplicates } from './cleanup/late-duplicates.js';
import * as failures from './failures.js';
import { ACQUIRE, isOn, RELEASE, RUN, Telemetry, traced } from '../observe/telemetry.js';
import { ReleaseRetrier } from './cleanup/release-retrier.js';
import { Acquisitions } from './acquisitions.js';
import { Releaser } from './releaser.js';
import type { ConditionWaiter } from './condition-waiter.js';
import type { AcquireRequest } from './call.js';

/** The most labels whose encoded metadata is cached. */
const LABELS_MAX = 100;

export class Core implements Grantor, PartHost {
  readonly settings: Settings;
  readonly store: Store;
  readonly requests: Requests;
  readonly watchdog: Watchdog;
  readonly telemetry: Telemetry;
  /** Completes the error of an acquisition for its caller. `Holdfast` adds the holder to it. */
  explain: (key: string, error: unknown) => unknown = (_, error) => failures.atCaller(error);
  readonly #ids: Ids;
  readonly #retrier: ReleaseRetrier;
  readonly #lateDuplicates: LateDuplicates;
  readonly #acquisitions: Acquisitions;
  readonly #releaser: Releaser;
  readonly #parts = new Map<unknown, CorePart>();
  readonly #suspend: SuspendDetector;
  readonly #metas = new Map<string, string>();
  readonly #closers = new Set<() => void>();
  #closing: Promise<void> | undefined;

  constructor(store: Store, settings: Settings) {
    const { randomSource, clock, requestTimeout, retention, clockMargin, maxRequests } = settings;
    const ids = new Ids(randomSource, clock);
    this.#ids = ids;
    this.settings = settings;
    this.store = store;
    store.use?.();
    this.requests = new Requests(store, clock, requestTimeout, clockMargin, maxRequests);
    const suspend = new SuspendDetector(clock);
    this.#suspend = suspend;
    const telemetry = new Telemetry(settings, ids.process, store.label);
    this.telemetry = telemetry;
    suspend.jumped = (ms) => telemetry.warn('clock', ms);
    this.watchdog = new Watchdog(this.requests, suspend, telemetry);
    telemetry.roots = () => this.watchdog.all();
    this.requests.outOfStep = (failure) => telemetry.warn('outOfStep', failure);
    this.requests.silent = (text) => telemetry.warn('mute', text);
    this.requests.wrongClocks = (servers) => telemetry.warn('serverClock', servers);
    this.requests.expired = () => {
      const command = store.blockedBy?.();
      if (command !== undefined) telemetry.warn('blocked', command);
    };
    this.#retrier = new ReleaseRetrier(this.requests, clock);
    this.#lateDuplicates = new LateDuplicates(this.requests, clock, retention, this.#retrier);
    this.#acquisitions = new Acquisitions({
      settings,
      store,
      ids,
      requests: this.requests,
      suspend,
      telemetry,
      watchdog: this.watchdog,
      retrier: this.#retrier,
      lateDuplicates: this.#lateDuplicates,
      meta: (label) => this.#meta(label),
    });
    this.#releaser = new Releaser({
      settings,
      suspend,
      telemetry,
      watchdog: this.watchdog,
      retrier: this.#retrier,
      acquisitions: this.#acquisitions,
    });
  }

  /** The unique id of this instance. */
  get id(): string {
    return this.#ids.process;
  }

  get clock(): Clock {
    return this.settings.clock;
  }

  get wake(): Wake {
    return this.#acquisitions.wake;
  }

  /** See `Roots.localWaiters`. */
  localWaiters(key: string): number {
    return this.#acquisitions.roots.localWaiters(key);
  }

  nextId(): string {
    return this.#ids.next(this.#suspend.count);
  }

  /** Returns the part of a class; the first call creates it. */
  part<T extends CorePart>(type: new (host: PartHost) => T): T {
    const known = this.#parts.get(type);
    if (known !== undefined) return known as T;
    const part = new type(this);
    this.#parts.set(type, part);
    if (this.#closing !== undefined) part.close();
    return part;
  }

  /** Resolves to a lease record, or to `null` if the lock is not free and `wait` is 0. */
  acquire(request: AcquireRequest): Promise<Hold | null> {
    if (!isOn(ACQUIRE)) return this.#acquire(request);
    return this.telemetry.acquire(request, (asked) => this.#acquire(asked));
  }

  #acquire(request: AcquireRequest): Promise<Hold | null> {
    if (this.#closing !== undefined) return Promise.reject(failures.closed(request.key));
    return this.#acquisitions.acquire(request);
  }

  /** Acquires a marker, which no caller holds; also while this instance closes. */
  mark(request: AcquireRequest): Promise<Hold | null> {
    return this.#acquisitions.acquire(request);
  }

  /** Publishes the steps of a `run`: of the acquisition, the work and the release. */
  run<T>(key: string, run: () => Promise<T>): Promise<T> {
    if (!isOn(RUN)) return run();
    const message: RunMessage = { instance: this.telemetry.instance, key };
    return traced(RUN, message, run);
  }

  /** The keys for which calls of this process wait, and how many. */
  waiting(): Iterable<readonly [key: string, count: number]> {
    return this.#acquisitions.waiting();
  }

  /** Prepares to give a lease up and to wait for a signal. No request is sent before `ask`. */
  park(from: Hold, condition: string): ConditionWaiter {
    if (this.#closing !== undefined) throw failures.closed(from.key);
    // the request names the last fence that was used: a duplicate of it may be executed later
    from.root.reserved = 0;
    return this.#acquisitions.park(from, condition, () => {
      from.release();
      this.watchdog.remove(from.root);
      if (from.root.mayBeDuplicated) this.#acquisitions.abandoned.follow(from);
    });
  }

  /**
   * Opens the connection for wake-ups, and keeps it open until this instance closes. Resolves to
   * whether messages arrive on it.
   */
  async warmUp(): Promise<boolean> {
    const { wake } = this.#acquisitions;
    const { clock, unreachableAfter } = this.settings;
    let works = false;
    const warm = async (): Promise<void> => {
      works = await wake.warmUp();
    };
    if (this.#closing === undefined) await within(clock, unreachableAfter, warm());
    if (wake.channel === '') throw failures.notWarm(this.#closing !== undefined, wake.failure);
    return works;
  }

  /** Sends the request of a condition waiter. */
  ask(conditionWaiter: ConditionWaiter): void {
    // parking ends a root too: entries whose tasks it serves are withdrawn before
    this.#acquisitions.roots.groups.askNow(conditionWaiter.request.key);
    this.#acquisitions.sender.ask(conditionWaiter);
  }

  /** See `Acquisitions.isOpen`. */
  isOpen(id: string): boolean {
    return this.#acquisitions.isOpen(id);
  }

  /** Resolves when a condition waiter has the lock again. */
  regained({ request, promise, condition }: ConditionWaiter): Promise<Hold | null> {
    if (!isOn(ACQUIRE)) return promise;
    return this.telemetry.acquire(request, () => promise, condition);
  }

  /** Abandons a condition waiter: the lock is not taken back. */
  abandon(conditionWaiter: ConditionWaiter): void {
    const { from, ready } = conditionWaiter;
    conditionWaiter.leave();
    this.#acquisitions.giveUp(
      conditionWaiter,
      failures.releasedAsleep(conditionWaiter.request.key),
    );
    // no request was sent, so the original lease is released
    if (!ready) this.#releaser.withdraw(from);
  }

  /** Releases a lease, see `Releaser`. */
  release(hold: Hold): Promise<ReleaseOutcome> {
    if (!isOn(RELEASE)) return this.#releaser.release(hold);
    const release = (): Promise<ReleaseOutcome> => this.#releaser.release(hold);
    const { key, name: id, fence, grantedAt } = hold;
    const held = this.clock.now() - grantedAt;
    return this.telemetry.release({ key, id, fence, held }, release);
  }

  /** Releases an acquisition by its id, see `Releaser`. */
  end(key: string, id: string, ms: number): Promise<ReleaseOutcome> {
    const end = (): Promise<ReleaseOutcome> => this.#releaser.end(key, id, ms);
    return isOn(RELEASE) ? this.telemetry.release({ key, id }, end) : end();
  }

  /**
   * These leases of a key were ended by force. A root with an owner has a lease of another name in
   * the store, so it may be one of them.
   */
  revoked(key: string, ended: readonly string[]): void {
    for (const root of this.watchdog.all()) {
      if (root.key !== key || !(root.owner !== '' || ended.includes(root.id))) continue;
      void this.#acquisitions.revocations.heard(root.id);
    }
  }

  /** Adds a lease that another process acquired. */
  add(root: Root): Promise<void> | undefined {
    return this.#acquisitions.add(root);
  }

  /** Withdraws a lease that was left to the store. */
  withdraw(hold: Hold): void {
    this.#releaser.withdraw(hold);
  }

  /**
   * Leaves a lease to the store: this process neither renews nor releases it, and it ends there by
   * itself.
   */
  leave(hold: Hold): void {
    hold.leave();
    this.watchdog.remove(hold.root);
  }

  /**
   * Calls back once when closing begins, before anything is ended, or at once if it has begun.
   * Returns a function that removes the callback.
   */
  onClose(callback: () => void): () => void {
    if (this.#closing === undefined) this.#closers.add(callback);
    else callback();
    return () => void this.#closers.delete(callback);
  }

  /** True once `close` was called. */
  get closing(): boolean {
    return this.#closing !== undefined;
  }

  /** The number of callbacks that wait for `close`. */
  get closers(): number {
    return this.#closers.size;
  }

  /** Rejects waiting acquisitions, waits up to `grace` ms for the leases, and closes all parts. */
  close(grace: number): Promise<void> {
    this.#closing ??= this.#close(grace);
    return this.#closing;
  }

  async #close(grace: number): Promise<void> {
    const { clock, watchdog, settings } = this;
    // in a later turn, when `#closing` is set
    await Promise.resolve();
    for (const tell of this.#closers) tell();
    this.#closers.clear();
    this.#acquisitions.giveUpAll(failures.closed);
    const parts = [...this.#parts.values()];
    for (const part of parts) part.close();
    await within(clock, grace, watchdog.empty());
    for (const root of watchdog.all()) {
      watchdog.lose(root.hold, 'closed');
      // a lease that must stay for some time ends by itself
      if (clock.now() < root.hold.keepUntil) continue;
      this.#acquisitions.abandoned.withdraw(root, root.ttl, false);
    }
    // a request that is answered from now on may have a grant, which is withdrawn
    const answered = this.#acquisitions.sender.settled();
    const settled = answered.then(() =>
      Promise.all([this.#retrier, ...parts].map((part) => part.settled())),
    );
    await within(clock, 2 * settings.requestTimeout, settled);
    this.#retrier.stop();
    this.#lateDuplicates.stop();
    for (const part of parts) part.stop();
    this.requests.close();
    this.watchdog.close();
    this.#acquisitions.lasting.close();
    // a connection attempt to a silent server closes when that attempt times out
    const closed = Promise.all([this.wake.close(), this.store.dispose?.()]);
    await within(clock, 2 * settings.requestTimeout, closed);
  }

  #meta(label: string): string {
    let meta = this.#metas.get(label);
    if (meta === undefined) {
      meta = JSON.stringify({ host: hostname(), pid: process.pid, ...(label && { label }) });
      if (this.#metas.size >= LABELS_MAX) this.#metas.clear();
      this.#metas.set(label, meta);
    }
    return meta;
  }
}

async function within(clock: Clock, ms: number, promise: Promise<unknown>): Promise<void> {
  if (ms === 0) return;
  let cancel = (): void => undefined;
  const limit = new Promise<void>((resolve) => {
    const timer = clock.after(ms, resolve);
    cancel = () => timer.cancel();
  });
  await Promise.race([promise, limit]);
  cancel();
}
