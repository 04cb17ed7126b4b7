/** What is left in this process of what was done: counted, and waited for. */
import { EventEmitter, getEventListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { CountingClock } from './clock.js';

export interface Snapshot {
  /** Timers of Holdfast. */
  readonly timers: number;
  /** Listeners of a signal that lives as long as the process. */
  readonly abortListeners: number;
  /** Listeners of the user's client and of the process. */
  readonly listeners: number;
  /** What keeps the process alive, as Node counts it. */
  readonly resources: number;
  /** Leases that something still refers to. */
  readonly leases: number;
  readonly heapMegabytes: number;
}

/**
 * What may be left for a while: one timer, for all requests that were answered so slowly that the
 * client may have sent them twice.
 */
export const MORE: Readonly<Partial<Record<keyof Snapshot, number>>> = { timers: 1 };

/** Leases that are watched; the older ones make room. */
const WATCHED_MAX = 5000;
const EVERY_MS = 50;

export class Remains {
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
   * What is left when it no longer becomes less, or `within` has passed.
   * @param wanted what it should become at most
   */
  async settled(within: number, wanted?: Snapshot): Promise<Snapshot> {
    const end = performance.now() + within;
    let least = await this.#look();
    for (let same = 0; performance.now() < end && same < 20; ) {
      if (wanted !== undefined && noMore(least, wanted)) break;
      await sleep(EVERY_MS);
      const now = await this.#look();
      same = wanted === undefined && noMore(least, now) ? same + 1 : 0;
      least = now;
    }
    return least;
  }

  async #look(): Promise<Snapshot> {
    // weak references hold until the turn in which they were looked at is over
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

/** All that is counted, without the heap, which is never quite the same. */
export function noMore(is: Snapshot, than: Snapshot): boolean {
  const names = ['timers', 'abortListeners', 'listeners', 'resources', 'leases'] as const;
  return names.every((name) => is[name] <= than[name] + (MORE[name] ?? 0));
}

function listenersOf(target: object): number {
  if (!(target instanceof EventEmitter)) return 0;
  const names = target.eventNames();
  return names.reduce((sum, name) => sum + target.listenerCount(name), 0);
}
