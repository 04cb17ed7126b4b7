/** One process of the trial `exclusion`: its tasks acquire, work under the lock, and release. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Holdfast, isHoldfastError, type Lease } from 'holdfast';
import { Redis } from 'ioredis';
import { type ClientName, connect } from '../support/clients.js';
import { lockOf, type Primitive, type Share, some } from '../support/locks.js';
import { monotonic } from '../support/overlaps.js';
import { between, pick, type Random, randomFrom } from '../support/random.js';
import { Resource } from '../support/resource.js';
import { given, send, received } from '../support/workers.js';

export interface Given {
  readonly index: number;
  readonly url: string;
  readonly client: ClientName;
  readonly seed: number;
  readonly seconds: number;
  readonly tasks: number;
  /** `fair` absent: random. */
  readonly keys: readonly { readonly key: string; readonly fair?: boolean }[];
  readonly fault: string | undefined;
  readonly primitive: Primitive;
}

/** One critical section; `wait` is the time until the grant in ms. */
export type Section = readonly [
  ...[key: string, task: number, from: number, to: number],
  ...[fence: number, wait: number, weight: number, capacity: number],
];

export interface Result {
  readonly sections: readonly Section[];
  /** Writes that were refused although the lease was held. */
  readonly stale: readonly string[];
  readonly errors: readonly string[];
  readonly counts: Record<string, number>;
}

/** Shorter than the longest sections, which therefore need renewal. */
const TTL = 300;
const CLAIM_WINDOW = 100;
const SLICE_MS = 5;
const REPORTED_MAX = 20;

class Tasks {
  readonly sections: Section[] = [];
  readonly stale: string[] = [];
  readonly errors: string[] = [];
  readonly counts: Record<string, number> = {};
  readonly #given: Given;
  readonly #holdfast: Holdfast;
  readonly #resource: Resource;
  readonly #bare: Redis;

  constructor(all: Given, holdfast: Holdfast, resource: Resource, bare: Redis) {
    this.#given = all;
    this.#holdfast = holdfast;
    this.#resource = resource;
    this.#bare = bare;
  }

  /** Runs one task until the end time. */
  async task(task: number, until: number): Promise<void> {
    const random = randomFrom(this.#given.seed * 1000 + task);
    while (monotonic() < until) {
      const { key, fair = random() < 0.5 } = pick(random, this.#given.keys);
      const requestedAt = monotonic();
      try {
        const share = some(this.#given.primitive, random);
        const lease = await this.#acquire(random, key, fair, share);
        if (lease === null) continue;
        await this.#section(random, task, lease, requestedAt, share);
      } catch (error) {
        this.#failed(error);
      }
    }
  }

  /** Some acquisitions end early: by a wait limit, by a signal, or by not waiting. */
  async #acquire(random: Random, key: string, fair: boolean, share: Share): Promise<Lease | null> {
    const { fault, primitive } = this.#given;
    const renew = fault === undefined || fault === 'asks-for-less';
    // the planted fault acquires less weight than it records
    const acquired = fault === 'asks-for-less' ? { ...share, weight: 1 } : share;
    const actualKey =
      fault === 'asks-for-less' && primitive === 'mutex' ? `${key} ${random()}` : key;
    const mutex = lockOf(primitive, this.#holdfast, actualKey, { fair, renew }, acquired);
    const way = random();
    if (way < 0.05) return mutex.tryAcquire();
    if (way < 0.1) return mutex.acquire({ wait: between(random, 1, 50) });
    if (way > 0.15) return mutex.acquire();
    const abort = new AbortController();
    const timer = setTimeout(() => abort.abort(), between(random, 0, 50));
    try {
      return await mutex.acquire({ signal: abort.signal });
    } finally {
      clearTimeout(timer);
    }
  }

  async #section(
    random: Random,
    task: number,
    lease: Lease,
    requestedAt: number,
    { weight, capacity }: Share,
  ): Promise<void> {
    // a planted fault changes the actual key; the original key is recorded
    const key = lease.key.replace(/ .*/, '');
    // only acquisitions that exclude their own kind write to the resource
    const writes = 2 * weight > capacity;
    const from = monotonic();
    let to = from;
    let count = 0;
    // whether the worker considers the lease held; the planted fault does not check it
    const checkHeld = (): boolean => {
      const now = monotonic();
      const held = this.#given.fault === 'no-renewal' || lease.held;
      if (held) to = now;
      return held;
    };
    if (checkHeld()) {
      const end = from + this.#holdTime(random);
      do {
        const done = writes ? await this.#write(lease, key, count) : true;
        count += 1;
        if (!checkHeld()) break;
        if (!done) this.#addStale(lease, key, count);
        const remaining = end - monotonic();
        if (remaining > 0) await sleep(Math.min(remaining, SLICE_MS));
      } while (checkHeld() && monotonic() < end);
      const { fence } = lease;
      this.sections.push([key, task, from, to, fence, from - requestedAt, weight, capacity]);
    }
    await this.#release(lease);
  }

  #write({ fence }: Lease, key: string, count: number): Promise<boolean> {
    return count === 0 ? this.#resource.enter(key, fence) : this.#resource.write(key, fence);
  }

  #addStale({ fence }: Lease, key: string, count: number): void {
    if (this.stale.length < REPORTED_MAX) {
      this.stale.push(`key ${key}: write ${count} with fence ${fence} was refused`);
    }
    this.#count('refused writes');
  }

  async #release(lease: Lease): Promise<void> {
    const outcome = await lease.release();
    if (outcome === 'freed') return;
    this.#count('leases lost');
    if (this.#given.fault !== 'release-without-compare') return;
    // a release without a comparison of the owner
    await sleep(SLICE_MS);
    await this.#bare.del(`holdfast:{${lease.key}}`);
  }

  /** Mostly short, sometimes longer than the claim window, rarely longer than the ttl. */
  #holdTime(random: Random): number {
    // with a planted fault, long times are more frequent, so that a short test finds it
    const kind = random() / (this.#given.fault === undefined ? 1 : 20);
    if (kind < 0.004) return between(random, TTL, 2 * TTL);
    if (kind < 0.015) return between(random, CLAIM_WINDOW / 2, 1.5 * CLAIM_WINDOW);
    if (kind < 0.2) return between(random, 2, 10);
    return between(random, 0, 1);
  }

  #failed(error: unknown): void {
    const code = isHoldfastError(error) ? error.code : 'other';
    if (code === 'HOLDFAST_TIMEOUT') this.#count('timeouts');
    else if (code === 'HOLDFAST_ABORTED') this.#count('aborts');
    // on a busy machine, a lease can end before its grant is received
    else if (code === 'HOLDFAST_UNREACHABLE') this.#count('too slow answers');
    else if (this.errors.length < REPORTED_MAX) this.errors.push(String(error));
  }

  #count(name: string): void {
    this.counts[name] = (this.counts[name] ?? 0) + 1;
  }
}

const all = given<Given>();
const { client, close } = await connect(all.client, all.url);
const resource = new Resource(`${all.url}/1`);
const bare = new Redis(all.url);
const holdfast = new Holdfast(client, { ttl: TTL, claimWindow: CLAIM_WINDOW });
const tasks = new Tasks(all, holdfast, resource, bare);
const go = received('go');
await send('ready');
await go;
const until = monotonic() + all.seconds * 1000;
await Promise.all(Array.from({ length: all.tasks }, (_, task) => tasks.task(task, until)));
await holdfast.close();
close();
resource.close();
bare.disconnect();
const { sections, stale, errors, counts } = tasks;
await send('result', { sections, stale, errors, counts });
process.disconnect();
