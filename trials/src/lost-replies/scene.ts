/**
 * What every single trial of lost replies plays on: a subject behind the proxy, a rival with a
 * connection of its own, and those who look on.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Holdfast, isHoldfastError, type Lease, type LockOptions } from 'holdfast';
import { type Proxy, until } from 'holdfast-testkit';
import type { Redis } from 'ioredis';
import { type ClientName, connect } from '../support/clients.js';
import { type Lock, lockOf, type Primitive } from '../support/locks.js';
import { type Interval, monotonic } from '../support/overlaps.js';
import type { Problems } from '../support/problems.js';
import type { Resource } from '../support/resource.js';
import { type Fault, plant } from './faults.js';

/** Longer than the patience with an orphan: what is free before was not freed by its expiry. */
const TTL = 30_000;
const PATIENCE = 8000;
/** A planted fault is found sooner than it would be excused, and holds nobody up for long. */
const WITH_FAULT = { ttl: 6000, patience: 1500 } as const;
const REQUEST_TIMEOUT = 150;
const SLICE_MS = 3;

/** Everything that the trials share. */
export interface Stage {
  readonly client: ClientName;
  readonly proxy: Proxy;
  /** Direct, as are the next two. */
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

/** Settings that make faults show soon. */
const SETTINGS = {
  claimWindow: 200,
  requestTimeout: REQUEST_TIMEOUT,
  unreachableAfter: 2 * REQUEST_TIMEOUT,
} as const;

/** One trial: its own key, its own subject on a connection of its own. */
export class Scene {
  readonly key: string;
  readonly name: string;
  readonly stage: Stage;
  readonly subject: Holdfast;
  readonly #close: () => void;

  private constructor(stage: Stage, name: string, key: string, client: object, close: () => void) {
    this.stage = stage;
    this.name = name;
    this.key = key;
    const ttl = stage.fault === undefined ? TTL : WITH_FAULT.ttl;
    this.subject = new Holdfast(client, { ...SETTINGS, ttl });
    this.#close = close;
  }

  static async open(stage: Stage, name: string, key: string): Promise<Scene> {
    const { client, close } = await connect(stage.client, stage.proxy.url);
    const { fault, bare } = stage;
    if (fault !== undefined) plant(client, fault, (record) => bare.del(record));
    return new Scene(stage, name, key, client, close);
  }

  async close(): Promise<void> {
    await this.subject.close({ grace: 0 });
    this.#close();
  }

  get #patience(): number {
    return this.stage.fault === undefined ? PATIENCE : WITH_FAULT.patience;
  }

  problem(kind: string, what: string): void {
    this.stage.problems.add(kind, `${this.name}, key ${this.key}: ${what}`);
  }

  /**
   * Works under a lease until `over`, or until it is lost, and tells both checks: the resource with
   * every slice, and the record of who believed when to hold.
   */
  async hold(who: string, lease: Lease, over: () => boolean): Promise<void> {
    const { resource, intervals } = this.stage;
    const { key, fence } = lease;
    const from = monotonic();
    let to = from;
    const believes = (): boolean => {
      const now = monotonic();
      const { held } = lease;
      if (held) to = now;
      return held;
    };
    if (!believes()) return;
    let written = await resource.enter(key, fence);
    for (;;) {
      if (!believes()) break;
      if (!written) this.problem('fence', `${who} held, and was refused with fence ${fence}`);
      if (over()) break;
      await sleep(SLICE_MS);
      if (!believes()) break;
      written = await resource.write(key, fence);
    }
    intervals.push({ key, who: `${this.name}: ${who}`, from, to, fence });
  }

  /** All of the lock, for the subject. */
  lock(options: LockOptions = {}): Lock {
    return lockOf(this.stage.primitive, this.subject, this.key, options);
  }

  /** The same, for the rival. */
  rivals(options: LockOptions = {}): Lock {
    return lockOf(this.stage.primitive, this.stage.rival, this.key, options);
  }

  /** The rival gets the lock, although nothing that is left of the subject expires so soon. */
  async rivalGets(wanted: Promise<Lease>, since: number): Promise<Lease | undefined> {
    const late = new AbortController();
    const limit = sleep(this.#patience, undefined, { signal: late.signal }).catch(() => undefined);
    const lease = await Promise.race([wanted, limit]);
    late.abort();
    if (lease === undefined) {
      const info = JSON.stringify(await this.stage.rival.inspect(this.key));
      this.problem('orphan', `not free within ${this.#patience} ms: ${info}`);
      await this.stage.rival.forceRelease(this.key);
      await (await wanted).release();
      return undefined;
    }
    this.stage.figures.time(this.name, monotonic() - since);
    return lease;
  }

  /** The rival's lease is what it should be, also in the store; and it ends as it should. */
  async rivalReleases(lease: Lease): Promise<void> {
    const { rival } = this.stage;
    const holders = (await rival.inspect(this.key))?.holders ?? [];
    const ids = holders.map(({ id }) => id);
    if (ids.length !== 1 || ids[0] !== lease.id) {
      this.problem('newer lease', `the rival held ${lease.id}, the store knew [${ids.join(', ')}]`);
    }
    const outcome = await lease.release();
    if (outcome !== 'freed') this.problem('newer lease', `the rival's release said ${outcome}`);
    await this.isFree();
  }

  /** Nobody holds, and nobody waits. */
  async isFree(): Promise<void> {
    const { rival } = this.stage;
    const free = async (): Promise<boolean> => (await rival.inspect(this.key)) === null;
    try {
      await until(free, { within: this.#patience, every: 20 });
    } catch {
      const { holders, waiterCount } = (await rival.inspect(this.key)) ?? { holders: [] };
      this.problem('orphan', `left: ${holders.length} leases, ${waiterCount ?? 0} waiters`);
      await rival.forceRelease(this.key);
    }
  }
}

/** The fault did not come about (the machine has too much to do): the trial says nothing. */
export class NotSetUp extends Error {}

export function notSetUp(why: unknown): never {
  throw new NotSetUp(String(why));
}

/** What has to go well before the fault. */
export function setUp(error: unknown): never {
  expected(error);
  return notSetUp(error);
}

/** A failure that may happen; any other one goes on. */
export function expected(error: unknown): undefined {
  const codes = ['HOLDFAST_UNREACHABLE', 'HOLDFAST_TIMEOUT', 'HOLDFAST_UNCERTAIN'] as const;
  if (codes.some((code) => isHoldfastError(error, code))) return undefined;
  throw error;
}
