/**
 * The state that all tasks of one process share: the `Holdfast` instance, the history, the
 * resource, and the clock of the instance.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Clock, type Holdfast, type HoldfastOptions, isHoldfastError } from 'holdfast';
import { between, pick, type Random, randomFrom } from 'holdfast-trials/support/random';
import type { Resource } from 'holdfast-trials/support/resource';
import type { Happening, History } from 'holdfast-checker';
import type { Access } from './connect.js';
import type { Library } from './library.js';
import {
  FORCED,
  type WorkerSettings,
  LOCAL_HAND_OFFS,
  PERMITS,
  type Terms,
  termsOf,
  ttlsOf,
} from '../settings.js';

/** The lock options of one call. */
export interface LockOptions {
  readonly ttl: number;
  readonly renew: boolean;
  readonly fair: boolean;
  readonly maxHold?: number;
}

/** How long an acquisition waits. */
export interface Limits {
  readonly wait?: number;
  readonly signal?: AbortSignal;
}

/** A forced release without a reply is not executed later than this. */
const LATE_FORCE_MS = 15_000;

interface Parts {
  readonly given: WorkerSettings;
  readonly make: (options: HoldfastOptions) => Holdfast;
  readonly history: History;
  readonly resource: Resource;
  readonly access: Access;
  readonly library: Library;
}

export class Workload {
  over = false;
  readonly given: WorkerSettings;
  readonly resource: Resource;
  readonly access: Access;
  readonly library: Library;
  /** Aborts at the end of the run: it ends waits without a limit. */
  readonly finish: AbortController = new AbortController();
  /** The capacity of the semaphore, as this process knows it. */
  permits: number = PERMITS[0];
  /** The close of the instance that was replaced last. */
  replaced: Promise<void> = Promise.resolve();
  /** Offset of the wall clock of this process, in ms. */
  wallOffset = 0;
  /** The options of each instance. */
  readonly terms: Terms;
  holdfast: Holdfast;
  readonly #history: History;
  readonly #make: (options: HoldfastOptions) => Holdfast;
  #count = 0;
  #onGrant: (() => void)[] = [];

  constructor({ given, make, history, resource, access, library }: Parts) {
    this.given = given;
    this.terms = termsOf(given.urls.length);
    this.resource = resource;
    this.access = access;
    this.library = library;
    this.#history = history;
    this.#make = make;
    this.holdfast = this.#newInstance(randomFrom(given.seed));
  }

  note(happening: Happening, t?: number): void {
    this.#history.add(this.given.name, happening, t);
  }

  /** A new name for an attempt or a call. */
  name(): string {
    this.#count += 1;
    return `${this.given.name}/${this.#count}`;
  }

  /** Resolves at the next grant to this process. */
  nextGrant(): Promise<void> {
    return new Promise((resolve) => this.#onGrant.push(resolve));
  }

  granted(): void {
    for (const resolve of this.#onGrant.splice(0)) resolve();
  }

  /** Draws lock options. They differ from call to call, also on one key. */
  drawLockOptions(random: Random, fair: boolean = random() < 0.5): LockOptions {
    const isRenewing = this.given.fault !== 'no-renewal';
    const renew = isRenewing && random() > 0.1;
    const ttls = ttlsOf(this.given.urls.length);
    // with the planted fault, more leases end while they are held
    const ttl = isRenewing ? pick(random, ttls) : Math.min(...ttls);
    if (!renew || random() > 0.05) return { ttl, renew, fair };
    return { ttl, renew, fair, maxHold: between(random, ttl, 2 * ttl) };
  }

  /** Some acquisitions wait without limit; others end by a limit or by a signal. */
  limits(random: Random): Limits {
    const way = random();
    if (way < 0.25) return { wait: between(random, 1, 500) };
    if (way > 0.8) return { signal: AbortSignal.timeout(Math.ceil(between(random, 1, 300))) };
    return {};
  }

  /** Replaces the instance every few seconds. The old one is closed with its leases and waits. */
  async replace(): Promise<void> {
    const random = randomFrom(this.given.seed);
    while (!this.over) {
      await sleep(between(random, 2000, 8000));
      const before = this.holdfast;
      if (this.over) return;
      this.holdfast = this.#newInstance(random);
      this.replaced = before.close({ grace: between(random, 0, this.terms.ttl) });
      await this.replaced;
    }
  }

  /** Force-releases one key again and again until the run is over. */
  async force(): Promise<void> {
    const random = randomFrom(this.given.seed * 1000 + 999);
    while (!this.over) {
      await sleep(between(random, 500, 3000));
      this.note({ e: 'force', k: FORCED });
      try {
        await this.holdfast.forceRelease(FORCED);
      } catch {
        await sleep(LATE_FORCE_MS);
      }
      this.note({ e: 'forced', k: FORCED });
    }
  }

  #newInstance(random: Random): Holdfast {
    return this.#make({
      ...this.terms,
      localHandOffs: pick(random, LOCAL_HAND_OFFS),
      clock: this.#clock(),
    });
  }

  /** The clock of the machine, except that the wall clock has an offset. */
  #clock(): Clock {
    return {
      now: () => performance.now(),
      wall: () => Date.now() + this.wallOffset,
      after: (ms, callback, weak = false) => {
        const timer = setTimeout(callback, Math.min(Math.max(0, Math.ceil(ms)), 2 ** 31 - 1));
        if (weak) timer.unref();
        return { cancel: () => clearTimeout(timer) };
      },
    };
  }
}

export function codeOf(error: unknown): string {
  return isHoldfastError(error) ? error.code : `unexpected: ${String(error)}`;
}
