/** Slots move while calls for several mutexes are sent to the nodes of a real cluster. */
import { type Server, type ServerName, sleep, until } from 'holdfast-testkit';
import { describe, expect, it } from 'vitest';
import type { ClientPort } from '../../src/store/clients/port.js';
import type { RenewMany } from '../../src/engine/commands.js';
import type { RedisStore } from '../../src/store/redis/redis-store.js';
import type { ClientName } from '../support/backends.js';
import {
  each,
  free,
  freeAll,
  nameOf,
  slotOfKey,
  StoresOnCluster,
  storeOn,
  take,
  takeAll,
} from '../support/cluster-store.js';

const NEWEST: readonly ClientName[] = ['ioredis-6', 'node-redis-6'];

describe.each<ServerName>(['redis', 'valkey'])('a cluster of %s', (name) => {
  const on = new StoresOnCluster(name);

  it.each(NEWEST)('%s: a slot has moved since', async (client) => {
    const store = await on.store(client);
    const [from, to] = on.cluster.masters as [Server, Server];
    const keys = on.keysOn(from, 5);
    const moved = keys[2] as string;
    await on.cluster.moveSlot(slotOfKey(moved), to);
    expect(await takeAll(store, keys)).toEqual(each('granted', keys));
    expect(await on.notHeld(store, keys)).toEqual([]);
    await on.cluster.moveSlot(slotOfKey(moved), from);
    expect(await freeAll(store, keys)).toEqual(each('freed', keys));
    await on.cluster.settled();
  });

  it('control: a store that takes each command for done is noticed', async () => {
    const port = await on.port('ioredis-6');
    const [from, to] = on.cluster.masters as [Server, Server];
    const keys = on.keysOn(from, 5);
    const moved = keys[2] as string;
    await on.cluster.moveSlot(slotOfKey(moved), to);
    await takeAll(storeOn(deaf(port)), keys);
    expect(await on.notHeld(storeOn(port), keys)).toEqual([`${moved}: granted, 1 records`]);
    await on.cluster.moveSlot(slotOfKey(moved), from);
    await on.cluster.settled();
  });

  it.each(NEWEST)('%s: two slots are between two nodes', async (client) => {
    const store = await on.store(client);
    const [from, to] = on.cluster.masters as [Server, Server];
    const [gone, held, other] = on.keysOn(from, 3) as [string, string, string];
    expect(await takeAll(store, [gone, held], 'x')).toEqual(['granted', 'granted']);
    const halfway = await Promise.all([gone, held].map((key) => startMove(key, from, to)));
    await from.command('MIGRATE', to.host, to.port, nameOf(gone), 0, 5000);
    const renewal: RenewMany = {
      ...{ op: 'renewMany', keys: [gone, held], ids: ['x', 'x'] },
      ...{ ttl: 60_000, retention: 60_000 },
    };
    const renewed = async () => (await Promise.all(store.execute([renewal])))[0];
    expect(await renewed()).toMatchObject({ left: [60_000_000, 60_000_000] });
    // control: with ASKING, the next owner lets a call with one of the keys use both
    const read = "return redis.call('HGET', ARGV[1], 's')";
    await to.command('ASKING');
    expect(await to.command('EVAL', read, 1, nameOf(gone), nameOf(held))).toBe(null);
    // single calls need all keys of a lock: a node refuses them until the move is over
    const asked = Promise.allSettled(store.execute([gone, held, other].map((key) => take(key))));
    for (const slot of halfway) await on.cluster.moveSlot(slot, to);
    const statuses = (await asked).map((one) => one.status === 'fulfilled' && one.value.status);
    expect(statuses[2]).toBe('granted');
    expect(statuses.slice(0, 2)).not.toContain('granted');
    expect(await on.notHeld(store, [gone, held, other])).toEqual([]);
    expect(await freeAll(store, [gone, held], 'x')).toEqual(['freed', 'freed']);
    for (const slot of halfway) await on.cluster.moveSlot(slot, from);
    await on.cluster.settled();
  });

  it('slots move to and fro: each mutex has one holder', async () => {
    const [from, to] = on.cluster.masters as [Server, Server];
    const contention = new Contention(on.keysOn(from, 12));
    const move = async (): Promise<void> => {
      for (const next of [to, from, to, from]) {
        for (const key of contention.keys.slice(0, 6)) {
          const before = contention.rounds;
          await on.cluster.moveSlot(slotOfKey(key), next);
          await until(() => contention.rounds > before + 1);
        }
      }
    };
    const moves = move();
    const stores = await Promise.all(NEWEST.map((client) => on.store(client)));
    await Promise.all(stores.map((store, at) => contention.run(store, `${at}`, () => moves)));
    await moves;
    expect(contention.problems).toEqual([]);
    await on.cluster.settled();
  });

  it('control: two holders are noticed', async () => {
    const [from] = on.cluster.masters as [Server];
    const contention = new Contention(on.keysOn(from, 12));
    const stores = [await on.store('ioredis-6'), storeOn(deaf(await on.port('node-redis-6')))];
    const noticed = (): Promise<unknown> => until(() => contention.problems.length > 0);
    await Promise.all(stores.map((store, at) => contention.run(store, `${at}`, noticed)));
    expect(contention.problems[0]).toContain('is held by');
  });

  it.skipIf(name === 'redis')('an atomic migration moves what a call has written', async () => {
    const store = await on.store('ioredis-6');
    const [from, to] = on.cluster.masters as [Server, Server];
    const keys = on.keysOn(from, 6);
    const slots = [keys[1], keys[4]].map((key) => slotOfKey(key as string));
    const pauses = (prevent: number): Promise<unknown> =>
      from.command('DEBUG', 'SLOTMIGRATION', 'PREVENT-PAUSE', prevent);
    await pauses(1);
    const ranges = slots.flatMap((slot) => [slot, slot]);
    const id = String(await to.command('CLUSTER', 'MYID'));
    await from.command('CLUSTER', 'MIGRATESLOTS', 'SLOTSRANGE', ...ranges, 'NODE', id);
    // the snapshot is sent, and the node forwards further writes
    await until(async () =>
      String(await from.command('CLUSTER', 'GETSLOTMIGRATIONS')).includes('waiting-to-pause'),
    );
    await on.resetCalls();
    expect(await takeAll(store, keys)).toEqual(each('granted', keys));
    expect(await on.calls()).toEqual([1, 0, 0]);
    await pauses(0);
    for (const slot of slots) await until(async () => (await on.cluster.ownerOf(slot)) === to);
    expect(await on.notHeld(store, keys)).toEqual([]);
    for (const slot of slots) await on.cluster.moveSlot(slot, from);
    await on.cluster.settled();
  });
});

/** Takes each command of a call for done. */
function deaf(port: ClientPort): ClientPort {
  return {
    ...port,
    evalsha: (calls) =>
      port.evalsha(calls).map(async (answer) => {
        const [proof, reply] = (await answer) as [unknown, unknown];
        return [proof, Array.isArray(reply) ? reply.slice(0, 1) : reply];
      }),
  };
}

/** Two stores that take and release the same mutexes in turns, several at once. */
class Contention {
  readonly keys: readonly string[];
  readonly problems: string[] = [];
  rounds = 0;
  readonly #holders = new Map<string, string>();
  #stopped = false;

  constructor(keys: readonly string[]) {
    this.keys = keys;
  }

  async run(store: RedisStore, name: string, end: () => Promise<unknown>): Promise<void> {
    void end().finally(() => (this.#stopped = true));
    for (let round = 0; !this.#stopped; round++) await this.#round(store, `${name} ${round}`);
  }

  async #round(store: RedisStore, id: string): Promise<void> {
    const replies = store.execute(this.keys.map((key) => take(key, id)));
    const ends = replies.map(async (reply, at) => {
      const key = this.keys[at] as string;
      // a node may refuse a command while a slot moves
      const status = await reply.then((one) => one.status).catch(() => 'unknown');
      if (status === 'granted') this.#enter(key, id);
    });
    await Promise.all(ends);
    await sleep(1);
    let rest = [...this.keys];
    for (;;) {
      rest = await this.#release(store, rest, id);
      if (rest.length === 0) break;
      await sleep(1);
    }
    this.rounds += 1;
  }

  #enter(key: string, id: string): void {
    const other = this.#holders.get(key);
    if (other !== undefined) this.problems.push(`${key} is held by ${other} and ${id}`);
    this.#holders.set(key, id);
  }

  /** Resolves to the keys whose release must be repeated. */
  async #release(store: RedisStore, keys: string[], id: string): Promise<string[]> {
    for (const key of keys) if (this.#holders.get(key) === id) this.#holders.delete(key);
    const ends = await Promise.allSettled(store.execute(keys.map((key) => free(key, id))));
    return keys.filter((_, at) => ends[at]?.status === 'rejected');
  }
}

/** Lets the slot of a key be between two nodes. */
async function startMove(key: string, from: Server, to: Server): Promise<number> {
  const slot = slotOfKey(key);
  const [source, target] = await Promise.all(
    [from, to].map(async (node) => String(await node.command('CLUSTER', 'MYID'))),
  );
  await to.command('CLUSTER', 'SETSLOT', slot, 'IMPORTING', source as string);
  await from.command('CLUSTER', 'SETSLOT', slot, 'MIGRATING', target as string);
  return slot;
}
