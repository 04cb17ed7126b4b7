/**
 * What the tasks of one process share: the instance they lock with, the history, the resource, and
 * the clock that the instance is given.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Clock, type Holdfast, type HoldfastOptions, isHoldfastError } from 'holdfast';
import { between, pick, type Random, randomFrom } from 'holdfast-trials/support/random';
import type { Resource } from 'holdfast-trials/support/resource';
import type { Happening, History } from 'holdfast-checker';
import { FORCED, type Given, HAND_OFFS, OPTIONS, PERMITS, TTLS } from '../settings.js';

/** How a key is locked this time. */
export interface DrawnTerms {
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

/** A forced release without an answer is not carried out later than this. */
const LATE_FORCE_MS = 15_000;

export class Play {
  over = false;
  readonly given: Given;
  readonly resource: Resource;
  /** Aborts when no new work begins: it ends waits that have no limit. */
  readonly finish: AbortController = new AbortController();
  /** How many permits this process believes there are. */
  permits: number = PERMITS[0];
  /** By how many ms the wall clock of this process is ahead. */
  wallOffset = 0;
  holdfast: Holdfast;
  readonly #history: History;
  readonly #make: (options: HoldfastOptions) => Holdfast;
  #count = 0;
  #onGrant: (() => void)[] = [];

  constructor(
    given: Given,
    make: (options: HoldfastOptions) => Holdfast,
    history: History,
    resource: Resource,
  ) {
    this.given = given;
    this.resource = resource;
    this.#history = history;
    this.#make = make;
    this.holdfast = this.#newInstance(randomFrom(given.seed));
  }

  note(happening: Happening, t?: number): void {
    this.#history.add(this.given.name, happening, t);
  }

  /** A name for an attempt or a call. */
  name(): string {
    this.#count += 1;
    return `${this.given.name}/${this.#count}`;
  }

  /** Resolves when something is granted. */
  nextGrant(): Promise<void> {
    return new Promise((resolve) => this.#onGrant.push(resolve));
  }

  granted(): void {
    for (const tell of this.#onGrant.splice(0)) tell();
  }

  /** Terms differ from call to call, also within one process and on one key. */
  terms(random: Random, fair: boolean = random() < 0.5): DrawnTerms {
    const renew = this.given.fault !== 'no-renewal' && random() > 0.1;
    const ttl = pick(random, TTLS);
    if (!renew || random() > 0.05) return { ttl, renew, fair };
    return { ttl, renew, fair, maxHold: between(random, ttl, 2 * ttl) };
  }

  /** Some wait for as long as it takes, some give up: by a limit, or by a signal. */
  limits(random: Random): Limits {
    const way = random();
    if (way < 0.25) return { wait: between(random, 1, 500) };
    if (way > 0.8) return { signal: AbortSignal.timeout(Math.ceil(between(random, 1, 300))) };
    return {};
  }

  /** Now and then an instance is closed, with whatever it holds and waits for, and followed. */
  async replace(): Promise<void> {
    const random = randomFrom(this.given.seed);
    while (!this.over) {
      await sleep(between(random, 2000, 8000));
      const before = this.holdfast;
      this.holdfast = this.#newInstance(random);
      await before.close({ grace: between(random, 0, OPTIONS.ttl) });
    }
  }

  /** Ends leases of one key by force, until it is over. */
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
    return this.#make({ ...OPTIONS, localHandOffs: pick(random, HAND_OFFS), clock: this.#clock() });
  }

  /** The machine's clock, but for a wall clock that can be stepped. */
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
