/** Stores on a real cluster of three masters, and what its nodes have of them. */
import { type Cluster, type Server, type ServerName, SLOTS, startCluster } from 'holdfast-testkit';
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import type { ClientPort } from '../../src/store/clients/port.js';
import type { Acquire, Command, Release, Reply } from '../../src/engine/commands.js';
import { RedisStore } from '../../src/store/redis/redis-store.js';
import { slotOf } from '../../src/store/redis/hash-slot.js';
import type { ClientName } from './backends.js';
import { type ClusterLogin, openCluster } from './clusters.js';
import { asking } from './crowds.js';

const PREFIX = 's:';
const retention = 60_000;

type Status = Reply['status'];

export const nameOf = (key: string): string => `${PREFIX}{${key}}`;
export const slotOfKey = (key: string): number => slotOf(nameOf(key));

/** An acquisition of a mutex that does not wait. */
export function take(key: string, id = 'a', more: Partial<Acquire> = {}): Acquire {
  return asking(id, { capacity: 1, ttl: 60_000, retention, key, queue: false, ...more });
}

export const free = (key: string, id: string): Release => ({ op: 'release', key, id, retention });

export const storeOn = (port: ClientPort): RedisStore => new RedisStore(port, PREFIX);

/** Sends commands in one turn. Resolves to the status of each reply. */
export async function send(store: RedisStore, commands: readonly Command[]): Promise<Status[]> {
  return (await Promise.all(store.execute(commands))).map(({ status }) => status);
}

export const takeAll = (store: RedisStore, keys: string[], id = 'a'): Promise<Status[]> =>
  send(
    store,
    keys.map((key) => take(key, id)),
  );

export const freeAll = (store: RedisStore, keys: string[], id = 'a'): Promise<Status[]> =>
  send(
    store,
    keys.map((key) => free(key, id)),
  );

/** The same status for each key. */
export const each = (status: Status, { length }: readonly string[]): Status[] =>
  Array.from({ length }, () => status);

/** Starts before the first test and stops after the last one. Each test begins without records. */
export class StoresOnCluster {
  readonly #closes: (() => Promise<void>)[] = [];
  #cluster: Cluster | undefined;
  #made = 0;

  constructor(server: ServerName) {
    beforeAll(async () => {
      this.#cluster = await startCluster({ server, args: ['--enable-debug-command', 'yes'] });
    });
    afterAll(() => this.cluster.stop());
    beforeEach(async () => {
      await Promise.all(this.cluster.masters.map((master) => master.command('FLUSHALL')));
    });
    afterEach(async () => {
      await Promise.all(this.#closes.splice(0).map((close) => close()));
    });
  }

  get cluster(): Cluster {
    return this.#cluster as Cluster;
  }

  async port(client: ClientName, login: ClusterLogin = {}): Promise<ClientPort> {
    const { port, close } = await openCluster(client, this.cluster.nodes, login);
    this.#closes.push(close);
    await this.#warm(storeOn(port));
    return port;
  }

  async store(client: ClientName): Promise<RedisStore> {
    const store = storeOn(await this.port(client));
    await this.#warm(store);
    return store;
  }

  /** Then the client is connected to each node, and each node knows the scripts and is checked. */
  async #warm(store: RedisStore): Promise<void> {
    for (const key of this.keys(1)) {
      await takeAll(store, [key]);
      await freeAll(store, [key]);
    }
    const keys = this.keys(3);
    await takeAll(store, keys);
    await freeAll(store, keys);
  }

  /** New keys of one master, each with a slot of its own, while no slot has moved. */
  keysOn(master: Server, count: number): string[] {
    const { masters } = this.cluster;
    const at = masters.indexOf(master);
    const [from, to] = [at, at + 1].map((n) => Math.floor((n * SLOTS) / masters.length));
    const slots = new Map<number, string>();
    while (slots.size < count) {
      const key = `key ${this.#made++}`;
      const slot = slotOfKey(key);
      if (slot >= (from as number) && slot < (to as number)) slots.set(slot, key);
    }
    return [...slots.values()];
  }

  /** New keys, so many of each master. */
  keys(count: number): string[] {
    return this.cluster.masters.flatMap((master) => this.keysOn(master, count));
  }

  /** The number of script calls at each master since the statistics were reset. */
  async calls(): Promise<number[]> {
    const all = await Promise.all(this.cluster.masters.map((master) => master.commandstats()));
    return all.map((stats) =>
      ['evalsha', 'eval'].reduce((sum, name) => sum + (stats.get(name)?.calls ?? 0), 0),
    );
  }

  async resetCalls(): Promise<void> {
    await Promise.all(this.cluster.masters.map((one) => one.command('CONFIG', 'RESETSTAT')));
  }

  /**
   * Asks for each key with another id. Resolves to the keys that are free at the owner of their
   * slot, or have a record at another node too.
   */
  async notHeld(store: RedisStore, keys: readonly string[]): Promise<string[]> {
    const problems: string[] = [];
    for (const key of keys) {
      const [status] = await send(store, [take(key, 'another')]);
      const records = await Promise.all(this.cluster.masters.map((node) => hasRecord(node, key)));
      const count = records.filter(Boolean).length;
      if (status !== 'refused' || count !== 1) problems.push(`${key}: ${status}, ${count} records`);
    }
    return problems;
  }
}

/** True if a node has a record of a key, also if it does not serve its slot. */
async function hasRecord(node: Server, key: string): Promise<boolean> {
  const names = (await node.command('KEYS', '*')) as string[];
  return names.includes(nameOf(key));
}
