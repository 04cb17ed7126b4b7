/**
 * One attempt of `lost-replies`: a subject behind the proxy, a rival with its own connection, and
 * the checks.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  Holdfast,
  isHoldfastError,
  type Lease,
  type LockOptions,
  type RedisClient,
} from 'holdfast';
import { paced, type Proxy, until } from 'holdfast-testkit';
import type { Redis } from 'ioredis';
import { type ClientName, connect } from '../support/clients.js';
import { type Lock, lockOf, type Primitive } from '../support/locks.js';
import { type Interval, monotonic } from '../support/overlaps.js';
import type { Problems } from '../support/problems.js';
import type { Resource } from '../support/resource.js';
import { type Fault, plant } from './faults.js';

/** Above `FREE_WITHIN`, so that a lock that is free in time was not freed by its expiry. */
const TTL = 30_000;
const FREE_WITHIN = 8000;
/** Shorter times with a planted fault, which is found by exceeding them. */
const WITH_FAULT = { ttl: 6000, freeWithin: 1500 } as const;
const REQUEST_TIMEOUT = 150;
const CLAIM_WINDOW = 200;
const SLICE_MS = 3;

/** The state that all attempts share. */
export interface Scenario {
  readonly client: ClientName;
  readonly proxy: Proxy;
  /** Connected directly, like `resource` and `bare`. */
  readonly rival: Holdfast;
  readonly resource: Resource;
  readonly bare: Redis;
  readonly fault: Fault | undefined;
  readonly primitive: Primitive;
  readonly problems: Problems;
  readonly intervals: Interval[];
  readonly figures: Figures;
}

/** Counts by name, and times in ms by name. */
export class Figures {
  readonly counts: Map<string, number> = new Map();
  readonly times: Map<string, number[]> = new Map();

  count(name: string): void {
    this.counts.set(name, (this.counts.get(name) ?? 0) + 1);
  }

  time(name: string, ms: number): void {
    const list = this.times.get(name);
    if (list === undefined) this.times.set(name, [ms]);
    else list.push(ms);
  }
}

/** Short times, so that faults show early. */
const settings = () => ({
  claimWindow: paced(CLAIM_WINDOW),
  requestTimeout: paced(REQUEST_TIMEOUT),
  unreachableAfter: paced(2 * REQUEST_TIMEOUT),
});

/** One attempt, with its own key and a subject with its own connection. */
export class Attempt {
  readonly key: string;
  readonly name: string;
  readonly scenario: Scenario;
  readonly subject: Holdfast;
  readonly claimWindow: number;
  readonly #close: () => void;

  private constructor(
    scenario: Scenario,
    name: string,
    key: string,
    client: RedisClient,
    close: () => void,
  ) {
    this.scenario = scenario;
    this.name = name;
    this.key = key;
    const ttl = paced(scenario.fault === undefined ? TTL : WITH_FAULT.ttl);
    const terms = settings();
    this.claimWindow = terms.claimWindow;
    this.subject = new Holdfast(client, { ...terms, ttl });
    this.#close = close;
  }

  static async open(scenario: Scenario, name: string, key: string): Promise<Attempt> {
    const { client, close } = await connect(scenario.client, scenario.proxy.url);
    const { fault, bare } = scenario;
    if (fault !== undefined) plant(client, fault, (record) => bare.del(record));
    return new Attempt(scenario, name, key, client, close);
  }

  async close(): Promise<void> {
    await this.subject.close({ grace: 0 });
    this.#close();
  }

  get #freeWithin(): number {
    const { fault } = this.scenario;
    return paced(fault === undefined ? FREE_WITHIN : WITH_FAULT.freeWithin);
  }

  problem(kind: string, what: string): void {
    this.scenario.problems.add(kind, `${this.name}, key ${this.key}: ${what}`);
  }

  /**
   * Works under a lease until `done` or until the lease is lost. Writes to the resource in every
   * slice, and records the interval in which the lease was held.
   */
  async hold(holder: string, lease: Lease, done: () => boolean): Promise<void> {
    const { resource, intervals } = this.scenario;
    const { key, fence } = lease;
    const from = monotonic();
    let to = from;
    const checkHeld = (): boolean => {
      const now = monotonic();
      const { held } = lease;
      if (held) to = now;
      return held;
    };
    if (!checkHeld()) return;
    let written = await resource.enter(key, fence);
    for (;;) {
      if (!checkHeld()) break;
      if (!written)
        this.problem(
          'fence',
          `the resource refused fence ${fence} of ${holder}, which held the lease`,
        );
      if (done()) break;
      await sleep(SLICE_MS);
      if (!checkHeld()) break;
      written = await resource.write(key, fence);
    }
    intervals.push({ key, who: `${this.name}: ${holder}`, from, to, fence });
  }

  /** The exclusive lock, for the subject. */
  lock(options: LockOptions = {}): Lock {
    return lockOf(this.scenario.primitive, this.subject, this.key, options);
  }

  /** The same, for the rival. */
  rivalLock(options: LockOptions = {}): Lock {
    return lockOf(this.scenario.primitive, this.scenario.rival, this.key, options);
  }

  /** The rival gets the lock before any remains of the subject could expire. */
  async rivalGets(wanted: Promise<Lease>, since: number): Promise<Lease | undefined> {
    const settled = new AbortController();
    const { signal } = settled;
    const limit = sleep(this.#freeWithin, undefined, { signal }).catch(() => undefined);
    const lease = await Promise.race([wanted, limit]);
    settled.abort();
    if (lease === undefined) {
      const info = JSON.stringify(await this.scenario.rival.inspect(this.key));
      this.problem('orphan', `not free within ${this.#freeWithin} ms: ${info}`);
      await this.scenario.rival.forceRelease(this.key);
      await (await wanted).release();
      return undefined;
    }
    this.scenario.figures.time(this.name, monotonic() - since);
    return lease;
  }

  /** Checks that the store has exactly the rival's lease, and that its release frees the lock. */
  async rivalReleases(lease: Lease): Promise<void> {
    const { rival } = this.scenario;
    const holders = (await rival.inspect(this.key))?.holders ?? [];
    const ids = holders.map(({ id }) => id);
    if (ids.length !== 1 || ids[0] !== lease.id) {
      this.problem('newer lease', `the rival held ${lease.id}, the store had [${ids.join(', ')}]`);
    }
    const outcome = await lease.release();
    if (outcome !== 'freed') this.problem('newer lease', `the rival's release returned ${outcome}`);
    await this.isFree();
  }

  /** Checks that the lock has neither holders nor waiters. */
  async isFree(): Promise<void> {
    const { rival } = this.scenario;
    const free = async (): Promise<boolean> => (await rival.inspect(this.key)) === null;
    try {
      await until(free, { within: this.#freeWithin, every: 20 });
    } catch {
      const { holders, waiterCount } = (await rival.inspect(this.key)) ?? { holders: [] };
      this.problem('orphan', `remaining: ${holders.length} leases, ${waiterCount ?? 0} waiters`);
      await rival.forceRelease(this.key);
    }
  }
}

/** The fault did not occur, because the machine is busy: the attempt has no result. */
export class NotSetUp extends Error {}

export function notSetUp(why: unknown): never {
  throw new NotSetUp(String(why));
}

/** Handles a failure before the fault. */
export function setUp(error: unknown): never {
  expected(error);
  return notSetUp(error);
}

/** Ignores an expected failure; throws any other one. */
export function expected(error: unknown): undefined {
  const codes = ['HOLDFAST_UNREACHABLE', 'HOLDFAST_TIMEOUT', 'HOLDFAST_UNCERTAIN'] as const;
  if (codes.some((code) => isHoldfastError(error, code))) return undefined;
  throw error;
}
