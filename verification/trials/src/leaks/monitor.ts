/** Counts the resources that remain in this process, and waits until the counts are stable. */
import { EventEmitter, getEventListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { CountingClock } from './clock.js';

export interface Snapshot {
  /** Timers of Holdfast. */
  readonly timers: number;
  /** Listeners of a signal that exists as long as the process. */
  readonly abortListeners: number;
  /** Listeners of the user's client and of the process. */
  readonly listeners: number;
  /** Resources that keep the process alive, as counted by Node. */
  readonly resources: number;
  /** Leases that are not garbage-collected. */
  readonly leases: number;
  readonly heapMegabytes: number;
}

/**
 * Resources that may remain for a while: one timer for all slow requests that the client may have
 * sent twice.
 */
export const ALLOWED: Readonly<Partial<Record<keyof Snapshot, number>>> = { timers: 1 };

/** The number of watched leases; older ones are replaced. */
const WATCHED_MAX = 5000;
const EVERY_MS = 50;

export class ResourceMonitor {
  readonly #clock: CountingClock;
  readonly #signal: AbortSignal;
  readonly #client: object;
  readonly #collect: () => void;
  readonly #leases: WeakRef<object>[] = [];
  #next = 0;

  constructor(clock: CountingClock, signal: AbortSignal, client: object) {
    this.#clock = clock;
    this.#signal = signal;
    this.#client = client;
    setFlagsFromString('--expose-gc');
    this.#collect = runInNewContext('gc') as () => void;
  }

  watch(lease: object): void {
    this.#leases[this.#next % WATCHED_MAX] = new WeakRef(lease);
    this.#next += 1;
  }

  /**
   * The counts when they no longer decrease, or after `within` ms.
   * @param wanted upper limits; stops waiting when they are reached
   */
  async settled(within: number, wanted?: Snapshot): Promise<Snapshot> {
    const end = performance.now() + within;
    let least = await this.#count();
    for (let same = 0; performance.now() < end && same < 20; ) {
      if (wanted !== undefined && noMore(least, wanted)) break;
      await sleep(EVERY_MS);
      const now = await this.#count();
      same = wanted === undefined && noMore(least, now) ? same + 1 : 0;
      least = now;
    }
    return least;
  }

  async #count(): Promise<Snapshot> {
    // a weak reference keeps its target until the end of the turn in which it was read
    await new Promise((resolve) => setImmediate(resolve));
    this.#collect();
    return {
      timers: this.#clock.pending.size,
      abortListeners: getEventListeners(this.#signal, 'abort').length,
      listeners: listenersOf(process) + listenersOf(this.#client),
      resources: process.getActiveResourcesInfo().length,
      leases: this.#leases.filter((lease) => lease.deref() !== undefined).length,
      heapMegabytes: process.memoryUsage().heapUsed / 2 ** 20,
    };
  }
}

/** Compares all counts except the heap, which always varies. */
export function noMore(is: Snapshot, than: Snapshot): boolean {
  const names = ['timers', 'abortListeners', 'listeners', 'resources', 'leases'] as const;
  return names.every((name) => is[name] <= than[name] + (ALLOWED[name] ?? 0));
}

function listenersOf(target: object): number {
  if (!(target instanceof EventEmitter)) return 0;
  const names = target.eventNames();
  return names.reduce((sum, name) => sum + target.listenerCount(name), 0);
}
