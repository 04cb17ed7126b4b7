/**
 * Creates, connects and closes the parts of one `Holdfast`. The primitives find them here.
 */
import type { Clock } from '../base/clock.js';
import type { CorePart, PartHost } from './core-part.js';
import { Ids } from '../base/ids.js';
import type { Root } from '../lease/root.js';
import { Watchdog } from '../lease/watchdog.js';
import { SuspendDetector } from '../lease/local-time.js';
import type { Settings } from '../base/options.js';
import type { Store } from '../store/port.js';
import { Requests } from '../store/requests.js';
import type { Wake } from '../store/wake-channel.js';
import { AbandonedAcquisitions } from './cleanup/abandoned.js';
import { LateDuplicates } from './cleanup/late-duplicates.js';
import * as failures from './failures.js';
import { Telemetry } from '../observe/telemetry.js';
import { ReleaseRetrier } from './cleanup/release-retrier.js';
import { Acquisitions } from './acquisitions.js';
import { Releaser } from './releaser.js';

type Explain = (key: string, error: unknown) => unknown;

export class Core implements PartHost {
  readonly settings: Settings;
  readonly store: Store;
  readonly requests: Requests;
  readonly watchdog: Watchdog;
  readonly telemetry: Telemetry;
  readonly acquisitions: Acquisitions;
  readonly releaser: Releaser;
  readonly explain: Explain;
  readonly #ids: Ids;
  readonly #retrier: ReleaseRetrier;
  readonly #lateDuplicates: LateDuplicates;
  readonly #parts = new Map<unknown, CorePart>();
  readonly #suspend: SuspendDetector;
  readonly #closers = new Set<() => void>();
  #closing: Promise<void> | undefined;
  #endWait = (): void => undefined;

  constructor(store: Store, settings: Settings, explain: Explain) {
    const { randomSource, clock, requestTimeout, retention, clockMargin, maxRequests } = settings;
    const ids = new Ids(randomSource, clock);
    this.#ids = ids;
    this.explain = explain;
    this.settings = settings;
    this.store = store;
    store.use?.();
    const roots = (): readonly Root[] => this.watchdog.all();
    const telemetry = new Telemetry(settings, ids.process, store.label, roots);
    this.telemetry = telemetry;
    const requests = new Requests(store, clock, requestTimeout, clockMargin, maxRequests, {
      outOfStep: (failure) => telemetry.warn('outOfStep', failure),
      silent: (text) => telemetry.warn('mute', text),
      wrongClocks: (servers) => telemetry.warn('serverClock', servers),
      expired: () => {
        const command = store.blockedBy?.();
        if (command !== undefined) telemetry.warn('blocked', command);
      },
    });
    this.requests = requests;
    const suspend = new SuspendDetector(clock, (ms) => telemetry.warn('clock', ms));
    this.#suspend = suspend;
    const watchdog = new Watchdog(requests, suspend, telemetry);
    this.watchdog = watchdog;
    const retrier = new ReleaseRetrier(requests, clock);
    this.#retrier = retrier;
    this.#lateDuplicates = new LateDuplicates(requests, clock, retention, retrier);
    const parts = { settings, suspend, telemetry, watchdog, retrier };
    const abandoned = new AbandonedAcquisitions(settings, retrier, this.#lateDuplicates);
    this.acquisitions = new Acquisitions({ ...parts, store, ids, requests, abandoned });
    this.releaser = new Releaser({ ...parts, acquisitions: this.acquisitions });
  }

  get id(): string {
    return this.#ids.process;
  }

  get clock(): Clock {
    return this.settings.clock;
  }

  get wake(): Wake {
    return this.acquisitions.wake;
  }

  nextId(): string {
    return this.#ids.next(this.#suspend.count);
  }

  part<T extends CorePart>(type: new (host: PartHost) => T): T {
    const known = this.#parts.get(type);
    if (known !== undefined) return known as T;
    const part = new type(this);
    this.#parts.set(type, part);
    if (this.#closing !== undefined) part.close();
    return part;
  }

  /**
   * Opens the wake connection until this instance closes. Resolves to whether messages arrive on
   * it.
   */
  async warmUp(): Promise<boolean> {
    const { wake } = this.acquisitions;
    const { clock, unreachableAfter } = this.settings;
    let works = false;
    const warm = async (): Promise<void> => {
      works = await wake.warmUp();
    };
    let unhook = (): void => undefined;
    const closes = new Promise<void>((resolve) => {
      unhook = this.onClose(resolve);
    });
    const opened = this.#closing === undefined ? warm() : closes;
    await within(clock, unreachableAfter, Promise.race([opened, closes]));
    unhook();
    if (wake.channel === '') throw failures.notWarm(this.#closing !== undefined, wake.failure);
    return works;
  }

  /**
   * Calls back once, when closing begins and nothing has ended, or at once if it has begun. The
   * returned function removes the callback.
   */
  onClose(callback: () => void): () => void {
    if (this.#closing === undefined) this.#closers.add(callback);
    else callback();
    return () => void this.#closers.delete(callback);
  }

  get closing(): Promise<void> | undefined {
    return this.#closing;
  }

  get closers(): number {
    return this.#closers.size;
  }

  /** Rejects waiting acquisitions, waits up to `grace` ms for the leases, and closes all parts. */
  close(grace: number): Promise<void> {
    this.acquisitions.closed = true;
    this.#closing ??= this.#close();
    void this.#wait(grace);
    return this.#closing;
  }

  async #wait(grace: number): Promise<void> {
    // in a later turn, when the parts are closed
    await Promise.resolve();
    await within(this.clock, grace, this.watchdog.empty());
    this.#endWait();
  }

  async #close(): Promise<void> {
    const { clock, watchdog, settings } = this;
    // in a later turn, when `#closing` is set
    await Promise.resolve();
    for (const tell of this.#closers) tell();
    this.#closers.clear();
    this.acquisitions.giveUpAll(failures.closed);
    const parts = [...this.#parts.values()];
    for (const part of parts) part.close();
    await new Promise<void>((resolve) => {
      this.#endWait = resolve;
    });
    for (const root of watchdog.all()) {
      watchdog.lose(root.hold, 'closed');
      // a lease that must stay ends by itself
      if (clock.now() < root.hold.keepUntil) continue;
      this.acquisitions.abandoned.withdraw(root, root.ttl, false);
    }
    // a request that is answered from now on may have a grant, which is withdrawn
    const answered = this.acquisitions.sender.settled();
    const settled = answered.then(() =>
      Promise.all([this.#retrier.settled(), ...parts.map(async (part) => part.settled?.())]),
    );
    await within(clock, 2 * settings.requestTimeout, settled);
    this.#retrier.stop();
    this.#lateDuplicates.stop();
    for (const part of parts) part.stop?.();
    this.requests.close();
    this.watchdog.close();
    this.acquisitions.lasting.close();
    const closed = Promise.all([this.wake.close(), this.store.dispose?.()]);
    await within(clock, 2 * settings.requestTimeout, closed);
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
