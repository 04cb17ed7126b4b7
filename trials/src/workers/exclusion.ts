/** One process of the trial `exclusion`: tasks that lock, work under the lock, and let go. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Holdfast, isHoldfastError, type Lease } from 'holdfast';
import { Redis } from 'ioredis';
import { type ClientName, connect } from '../support/clients.js';
import { lockOf, type Primitive, type Share, some } from '../support/locks.js';
import { monotonic } from '../support/overlaps.js';
import { between, pick, type Random, randomFrom } from '../support/random.js';
import { Resource } from '../support/resource.js';
import { given, say, told } from '../support/workers.js';

export interface Given {
  readonly index: number;
  readonly url: string;
  readonly client: ClientName;
  readonly seed: number;
  readonly seconds: number;
  readonly tasks: number;
  /** `fair` left out: sometimes so, sometimes so. */
  readonly keys: readonly { readonly key: string; readonly fair?: boolean }[];
  readonly fault: string | undefined;
  readonly primitive: Primitive;
}

/** Key, task, when it went in and out, fence, how long it had waited, weight, capacity. */
export type Section = readonly [
  ...[key: string, task: number, from: number, to: number],
  ...[fence: number, wait: number, weight: number, capacity: number],
];

export interface Told {
  readonly sections: readonly Section[];
  /** Writes that were refused although the lease was held. */
  readonly stale: readonly string[];
  readonly errors: readonly string[];
  readonly counts: Record<string, number>;
}

/** Short enough for the longer sections to end by expiry, were it not for renewal. */
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

  /** What one task does until the time is over. */
  async task(task: number, until: number): Promise<void> {
    const random = randomFrom(this.#given.seed * 1000 + task);
    while (monotonic() < until) {
      const { key, fair = random() < 0.5 } = pick(random, this.#given.keys);
      const asked = monotonic();
      try {
        const share = some(this.#given.primitive, random);
        const lease = await this.#acquire(random, key, fair, share);
        if (lease === null) continue;
        await this.#section(random, task, lease, asked, share);
      } catch (error) {
        this.#failed(error);
      }
    }
  }

  /** Some give up: by a limit, by a signal, by not waiting at all. */
  async #acquire(random: Random, key: string, fair: boolean, share: Share): Promise<Lease | null> {
    const { fault, primitive } = this.#given;
    const renew = fault === undefined || fault === 'asks-for-less';
    // the planted fault believes in more than it has
    const asked = fault === 'asks-for-less' ? { ...share, weight: 1 } : share;
    const alone = fault === 'asks-for-less' && primitive === 'mutex' ? `${key} ${random()}` : key;
    const mutex = lockOf(primitive, this.#holdfast, alone, { fair, renew }, asked);
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
    asked: number,
    { weight, capacity }: Share,
  ): Promise<void> {
    // a lock that a planted fault has made its own is still taken for the one it should be
    const key = lease.key.replace(/ .*/, '');
    // whoever may be inside together with others of its kind has nothing to write
    const writes = 2 * weight > capacity;
    const from = monotonic();
    let to = from;
    let count = 0;
    // what the worker takes for holding; the planted fault does not look
    const believes = (): boolean => {
      const now = monotonic();
      const belief = this.#given.fault === 'no-renewal' || lease.held;
      if (belief) to = now;
      return belief;
    };
    if (believes()) {
      const end = from + this.#holdTime(random);
      do {
        const done = writes ? await this.#write(lease, key, count) : true;
        count += 1;
        if (!believes()) break;
        if (!done) this.#note(lease, key, count);
        const left = end - monotonic();
        if (left > 0) await sleep(Math.min(left, SLICE_MS));
      } while (believes() && monotonic() < end);
      const { fence } = lease;
      this.sections.push([key, task, from, to, fence, from - asked, weight, capacity]);
    }
    await this.#release(lease);
  }

  #write({ fence }: Lease, key: string, count: number): Promise<boolean> {
    return count === 0 ? this.#resource.enter(key, fence) : this.#resource.write(key, fence);
  }

  #note({ fence }: Lease, key: string, count: number): void {
    if (this.stale.length < REPORTED_MAX) {
      this.stale.push(`key ${key}: write ${count} with fence ${fence} came too late`);
    }
    this.#count('refused writes');
  }

  async #release(lease: Lease): Promise<void> {
    const outcome = await lease.release();
    if (outcome === 'freed') return;
    this.#count('leases lost');
    if (this.#given.fault !== 'release-without-compare') return;
    // what a release does that does not look whose lock it is
    await sleep(SLICE_MS);
    await this.#bare.del(`holdfast:{${lease.key}}`);
  }

  /** Mostly short, sometimes longer than the window of a claim, now and then than the ttl. */
  #holdTime(random: Random): number {
    // with a fault planted there has to be occasion for it in the short time of a test
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
    // on a machine that has too much to do, a lease can be over when its grant is heard of
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
const go = told('go');
await say('ready');
await go;
const until = monotonic() + all.seconds * 1000;
await Promise.all(Array.from({ length: all.tasks }, (_, task) => tasks.task(task, until)));
await holdfast.close();
close();
resource.close();
bare.disconnect();
const { sections, stale, errors, counts } = tasks;
await say('told', { sections, stale, errors, counts });
process.disconnect();
