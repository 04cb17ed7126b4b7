/**
 * What one process does: tasks ask for locks in every way there is, hold them for very different
 * times, and write down what they believed when.
 *
 * A moment is taken before the question whether the lease is held: what was true afterwards was
 * true then, however long the process was frozen in between.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { type Holdfast, isHoldfastError, type Lease } from 'holdfast';
import { monotonic } from 'holdfast-trials/support/overlaps';
import { between, pick, type Random, randomFrom } from 'holdfast-trials/support/random';
import type { Resource } from 'holdfast-trials/support/resource';
import type { Happening, History } from 'holdfast-checker';
import { FORCED, type Given, KEYS, OPTIONS } from '../settings.js';

const NAMES = Object.keys(KEYS);
const { ttl, claimWindow } = OPTIONS;
const SLICE_MS = 5;
/** Between two acquisitions of a task: the history of ten minutes has to fit into memory. */
const THINK_MS = 150;

export class Sections {
  over = false;
  /** Where new acquisitions go. */
  holdfast: Holdfast;
  readonly #given: Given;
  readonly #history: History;
  readonly #resource: Resource;
  #count = 0;
  #onGrant: (() => void)[] = [];
  #bare: Redis | undefined;

  constructor(given: Given, holdfast: Holdfast, history: History, resource: Resource) {
    this.#given = given;
    this.holdfast = holdfast;
    this.#history = history;
    this.#resource = resource;
  }

  /** What one task does until it is over. */
  async task(index: number): Promise<void> {
    const random = randomFrom(this.#given.seed * 1000 + index);
    while (!this.over) {
      await sleep(between(random, 1, THINK_MS));
      await this.#once(random);
    }
  }

  /** Resolves when something is granted. */
  nextGrant(): Promise<void> {
    return new Promise((resolve) => this.#onGrant.push(resolve));
  }

  /** Ends leases of one key by force, until it is over. */
  async force(): Promise<void> {
    const random = randomFrom(this.#given.seed * 1000 + 999);
    while (!this.over) {
      await sleep(between(random, 500, 3000));
      this.#note({ e: 'force', k: FORCED });
      try {
        await this.holdfast.forceRelease(FORCED);
        this.#note({ e: 'forced', k: FORCED });
      } catch {
        // it may still be carried out: on record it does not end
      }
    }
  }

  #note(happening: Happening, t?: number): void {
    this.#history.add(this.#given.name, happening, t);
  }

  async #once(random: Random): Promise<void> {
    const k = pick(random, NAMES);
    const fair = KEYS[k] ?? random() < 0.5;
    this.#count += 1;
    const a = `${this.#given.name}/${this.#count}`;
    let lease: Lease | null;
    try {
      lease = await this.#acquire(random, k, a, fair);
    } catch (error) {
      this.#note({ e: 'fail', k, a, code: codeOf(error) });
      return;
    }
    if (lease === null) {
      this.#note({ e: 'fail', k, a, code: null });
      return;
    }
    const t = monotonic();
    if (!lease.held) {
      // it ended while this process stood still
      this.#note({ e: 'fail', k, a, code: 'ended on the way' });
      await lease.release().catch(() => undefined);
      return;
    }
    for (const tell of this.#onGrant.splice(0)) tell();
    this.#note({ e: 'grant', k, a, id: lease.id, fence: lease.fence }, t);
    await this.#section(random, a, lease, t);
  }

  /** Some give up: by a limit, by a signal, by not waiting at all. */
  async #acquire(random: Random, k: string, a: string, fair: boolean): Promise<Lease | null> {
    const renew = this.#given.fault !== 'no-renewal' && random() > 0.1;
    const mutex = this.holdfast.mutex(k, { fair, renew });
    const ask = (wait?: number): void => {
      const limit = wait === undefined ? {} : { wait };
      this.#note({ e: 'ask', k, a, weight: 1, capacity: 1, fair, ...limit });
    };
    const way = random();
    if (way < 0.1) {
      ask(0);
      return mutex.tryAcquire();
    }
    if (way < 0.3) {
      const wait = between(random, 1, 500);
      ask(wait);
      return mutex.acquire({ wait });
    }
    if (way < 0.8) {
      ask();
      return mutex.acquire();
    }
    const abort = new AbortController();
    const timer = setTimeout(() => abort.abort(), between(random, 0, 300));
    ask();
    try {
      return await mutex.acquire({ signal: abort.signal });
    } finally {
      clearTimeout(timer);
    }
  }

  async #section(random: Random, a: string, lease: Lease, from: number): Promise<void> {
    const { key: k } = lease;
    // the planted fault does not look
    const believes = (): boolean => {
      const t = monotonic();
      const held = this.#given.fault === 'no-renewal' || lease.held;
      if (held) this.#note({ e: 'hold', k, a }, t);
      return held;
    };
    const end = from + this.#holdTime(random);
    let held = true;
    for (let count = 0; held; count++) {
      await this.#use(a, lease, count);
      if (random() < 0.0005) stall(between(random, 0.2 * ttl, 1.5 * ttl));
      held = believes();
      const left = end - monotonic();
      if (!held || left <= 0) break;
      await sleep(Math.min(left, left > 100 ? 10 * SLICE_MS : SLICE_MS));
      held = believes();
    }
    await this.#release(a, lease);
  }

  async #use(a: string, { key: k, fence }: Lease, count: number): Promise<void> {
    const write = count === 0 ? this.#resource.enter(k, fence) : this.#resource.write(k, fence);
    try {
      this.#note({ e: 'use', k, a, fence, accepted: await write });
    } catch (error) {
      this.#note({ e: 'fail', k, a, code: `resource: ${String(error)}` });
    }
  }

  async #release(a: string, lease: Lease): Promise<void> {
    const { key: k } = lease;
    const t = monotonic();
    const { held } = lease;
    this.#note({ e: held ? 'release' : 'lost', k, a }, t);
    let outcome: string;
    try {
      outcome = await lease.release();
    } catch (error) {
      outcome = codeOf(error);
    }
    if (held) this.#note({ e: 'released', k, a, outcome });
    if (outcome !== 'lost' || this.#given.fault !== 'release-without-compare') return;
    // what a release does that does not look whose lock it is
    this.#bare ??= new Redis(this.#given.url);
    this.#bare.on('error', () => undefined);
    await this.#bare.del(`holdfast:{${k}}`).catch(() => undefined);
  }

  /** Mostly short, sometimes longer than the window of a claim, now and then than the ttl. */
  #holdTime(random: Random): number {
    // with a fault planted there has to be occasion for it in the short time of a test
    const kind = random() / (this.#given.fault === undefined ? 1 : 20);
    if (kind < 0.005) return between(random, ttl, 2 * ttl);
    if (kind < 0.04) return between(random, claimWindow / 2, 1.5 * claimWindow);
    return between(random, 0, 10);
  }
}

/** The event loop stands still. */
function stall(ms: number): void {
  const end = monotonic() + ms;
  while (monotonic() < end);
}

function codeOf(error: unknown): string {
  return isHoldfastError(error) ? error.code : `unexpected: ${String(error)}`;
}
