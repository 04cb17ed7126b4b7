/**
 * Slots move while locks in them are held, extended and contended by clients of both libraries. The
 * calls go to the client of their node, so each redirection must reach the client of the cluster.
 */
import { type Cluster, type Server, SLOTS, sleep, startCluster, until } from 'holdfast-testkit';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Holdfast, HoldfastOptions, Lease, RedisClient } from '../../src/index.js';
import { slotOf } from '../../src/store/redis/hash-slot.js';
import { type ClientName, Made } from '../support/backends.js';
import { openCluster } from '../support/clusters.js';
import { freshKey } from '../suites/helpers.js';

const TERMS: HoldfastOptions = { ttl: 60_000, claimWindow: 500, retention: 600_000 };
const NAMES: readonly ClientName[] = ['ioredis-6', 'node-redis-6'];
const KEYS = 3;

let cluster: Cluster;
const made = new Made();
beforeAll(async () => {
  cluster = await startCluster({ server: 'valkey', masters: 2 });
});
afterEach(() => made.close());
afterAll(() => cluster.stop());

const slotOfLock = (key: string): number => slotOf(`holdfast:{${key}}`);

/** A new key whose lock is on the first master. */
function keyOnFirst(): string {
  for (;;) {
    const key = freshKey();
    if (slotOfLock(key) < SLOTS / 2) return key;
  }
}

/** The locks of one run, and what went wrong. */
class Traffic {
  readonly problems: string[] = [];
  readonly grants = new Map<string, number>();
  readonly #fences = new Map<string, number>();
  readonly #holders = new Map<string, Lease>();
  #stopped = false;
  #loops: Promise<void>[] = [];

  start(holdfast: Holdfast, key: string): void {
    this.#loops.push(this.#contend(holdfast, key));
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#loops);
  }

  /** On a busy machine a lease may be over before its holder runs. */
  #enter(key: string, lease: Lease): void {
    if (!lease.held) return;
    if (this.#holders.get(key)?.held === true) this.problems.push(`${key} has two holders`);
    this.#holders.set(key, lease);
    if (lease.fence <= (this.#fences.get(key) ?? 0)) this.problems.push(`${key}: old fence`);
    this.#fences.set(key, lease.fence);
  }

  async #contend(holdfast: Holdfast, key: string): Promise<void> {
    while (!this.#stopped) {
      try {
        const lease = await holdfast.mutex(key).acquire({ wait: 20_000 });
        this.#enter(key, lease);
        await sleep(2);
        // in the gap of a move a release may have no answer: it is repeated, and the next one waits
        await lease.release().catch((error: { code?: string }) => {
          if (error.code !== 'HOLDFAST_UNCERTAIN') throw error;
        });
        this.grants.set(key, (this.grants.get(key) ?? 0) + 1);
      } catch (error) {
        this.problems.push(String(error));
        await sleep(20);
      }
    }
  }
}

/** How often a node has replied with ASK. */
async function redirections(node: Server): Promise<number> {
  const info = String(await node.command('INFO', 'errorstats'));
  return Number(/errorstat_ASK:count=(\d+)/.exec(info)?.[1] ?? 0);
}

/** Moves the keys of a slot first, and the slot when the clients have met the gap between. */
async function moveInHalves(slot: number, to: Server): Promise<void> {
  const from = await cluster.ownerOf(slot);
  const [source, target] = await Promise.all(
    [from, to].map(async (node) => String(await node.command('CLUSTER', 'MYID'))),
  );
  const before = await redirections(from);
  await to.command('CLUSTER', 'SETSLOT', slot, 'IMPORTING', source as string);
  await from.command('CLUSTER', 'SETSLOT', slot, 'MIGRATING', target as string);
  const keys = (await from.command('CLUSTER', 'GETKEYSINSLOT', slot, 100)) as string[];
  for (const key of keys) await from.command('MIGRATE', to.host, to.port, key, 0, 5000);
  const met = async (): Promise<boolean> => (await redirections(from)) > before;
  await until(met, { within: 15_000, what: 'the clients were redirected with ASK' });
  await cluster.moveSlot(slot, to);
}

const WAYS: Readonly<Record<string, (slot: number, to: Server) => Promise<void>>> = {
  'in halves': moveInHalves,
  'key by key': (slot, to) => cluster.moveSlot(slot, to),
  'all at once': (slot, to) => cluster.migrateSlot(slot, to),
};

/** Waits until each key was granted some more times. */
async function goesOn({ grants }: Traffic, keys: readonly string[]): Promise<void> {
  const before = new Map(grants);
  const more = (key: string): boolean => (grants.get(key) ?? 0) > (before.get(key) ?? 0) + 3;
  await until(() => keys.every(more), { within: 20_000, what: 'all locks are granted again' });
}

describe('slots that move', () => {
  it.each(Object.keys(WAYS))('%s: no call fails, and each lock has one holder', async (way) => {
    const holdfasts = await Promise.all(
      NAMES.map((name) => made.on(openCluster(name, cluster.nodes), TERMS)),
    );
    const keys = Array.from({ length: KEYS }, keyOnFirst);
    const held = await Promise.all(holdfasts.map((one) => one.mutex(keyOnFirst()).acquire()));
    const traffic = new Traffic();
    for (const one of holdfasts) for (const key of keys) traffic.start(one, key);
    const [first, second] = cluster.masters as [Server, Server];
    for (const to of [second, first]) {
      await goesOn(traffic, keys);
      for (const key of keys) await WAYS[way]?.(slotOfLock(key), to);
      for (const lease of held) {
        await cluster.moveSlot(slotOfLock(lease.key), to);
        await until(() => lease.extend(60_000).catch(() => false), { within: 20_000 });
      }
    }
    await goesOn(traffic, keys);
    await traffic.stop();
    expect(traffic.problems).toEqual([]);
    for (const lease of held) {
      expect(lease.held).toBe(true);
      expect(await lease.release()).toBe('freed');
    }
  });

  it.each(NAMES)('control: %s that ignores redirections fails', async (name) => {
    const opened = await openCluster(name, cluster.nodes);
    const ignored = Object.assign(new Error('MOVED 0 127.0.0.1:1'), { name: 'ReplyError' });
    const ignore = async (): Promise<never> => {
      throw ignored;
    };
    // only the calls of scripts go directly, and come here after a redirection
    const deaf = Object.create(opened.client, {
      evalsha: { value: ignore },
      evalshaBuffer: { value: ignore },
      sendCommand: { value: ignore },
    }) as RedisClient;
    const key = keyOnFirst();
    const healthy = await made.on(Promise.resolve(opened), TERMS);
    // the node knows the scripts
    await healthy.mutex(key).run(async () => undefined);
    const traffic = new Traffic();
    traffic.start(await made.on(Promise.resolve({ ...opened, client: deaf }), TERMS), key);
    await goesOn(traffic, [key]);
    const [first, second] = cluster.masters as [Server, Server];
    const granted = (): number => traffic.grants.get(key) ?? 0;
    // the client may learn of a move by itself, before a call needs a redirection
    for (let moves = 0; traffic.problems.length === 0; moves++) {
      await cluster.moveSlot(slotOfLock(key), moves % 2 === 0 ? second : first);
      const before = granted();
      const shown = (): boolean => traffic.problems.length > 0 || granted() > before + 20;
      await until(shown, { within: 30_000 });
    }
    await traffic.stop();
    expect(traffic.problems[0]).toContain('MOVED');
    await cluster.moveSlot(slotOfLock(key), first);
  });
});
