/** Acquisitions and releases of several mutexes with one call, on real servers. */
import { type ServerName, startServer, until } from 'holdfast-testkit';
import { Redis } from 'ioredis';
import { beforeEach, describe, expect, it } from 'vitest';
import { portFor } from '../../src/store/clients/detect.js';
import type { ClientPort } from '../../src/store/clients/port.js';
import type { Acquire, Command, Release, Reply } from '../../src/engine/commands.js';
import { RedisStore } from '../../src/store/redis/redis-store.js';
import { asking } from '../support/crowds.js';
import { StoreOnServer } from '../support/store-on-server.js';

const retention = 60_000;
const names = (count: number): string[] => Array.from({ length: count }, (_, at) => `k${at}`);
const take = (key: string, id = 'a', more: Partial<Acquire> = {}): Acquire =>
  asking(id, { capacity: 1, ttl: 10_000, retention, key, ...more });
const free = (key: string, id = 'a'): Release => ({ op: 'release', key, id, retention });

/** A reply to `inspect` without what changes with time. */
function still(reply: Reply | undefined): unknown {
  if (reply?.status !== 'inspected') return reply;
  return { ...reply, now: 0, holders: reply.holders.map((holder) => ({ ...holder, left: 0 })) };
}

describe.each<ServerName>(['redis', 'valkey'])('on %s', (name) => {
  const at = new StoreOnServer(name, 's:');
  beforeEach(async () => {
    await at.redis.flushall();
    at.renew();
    // the first use tests for one server, and that of a script sends its text
    for (let round = 0; round < 2; round++) {
      await send(...['x', 'y'].map((key) => take(key)), take('z', 'a', { owner: 'o' }));
      await send(...['x', 'y'].map((key) => free(key)), free('z'));
    }
    await at.redis.config('RESETSTAT');
  });

  /** Sends commands in one turn. Resolves to the status of each reply. */
  async function send(...commands: Command[]): Promise<Reply['status'][]> {
    return (await Promise.all(at.store.execute(commands))).map(({ status }) => status);
  }

  it('300 free mutexes are taken with three calls, and released with three', async () => {
    const granted = await Promise.all(at.store.execute(names(300).map((key) => take(key))));
    for (const reply of granted) {
      expect(reply).toMatchObject({ status: 'granted', left: 10_000_000, holds: 1 });
    }
    expect(await at.calls('evalsha', 'time', 'hget', 'hset', 'pexpireat')).toEqual([
      ...[3, 3, 300, 300, 300],
    ]);
    expect(new Set(await send(...names(300).map((key) => free(key))))).toEqual(new Set(['freed']));
    expect(await at.calls('evalsha', 'time', 'hget', 'hset')).toEqual([6, 6, 600, 600]);
  });

  it('300 mutexes are shown with three calls, as each is shown alone', async () => {
    const keys = names(300);
    const show = (key: string): Command => ({ op: 'inspect', key, limit: 100 });
    // held, held by a root, free and remembered, and without a record
    await send(
      ...keys.slice(0, 298).map((key, n) => take(key, 'a', { handOffs: n % 2, meta: '{}' })),
    );
    await send(free('k0'));
    await Promise.all(at.store.execute(keys.map(show)));
    await at.redis.config('RESETSTAT');
    const together = await Promise.all(at.store.execute(keys.map(show)));
    expect(await at.calls('evalsha')).toEqual([3]);
    for (const [n, key] of keys.entries()) {
      const [alone] = await Promise.all(at.store.execute([show(key)]));
      expect(still(together[n])).toEqual(still(alone));
    }
  });

  it('a mutex with waiters, a semaphore, and damage have calls of their own', async () => {
    const show = (key: string): Command => ({ op: 'inspect', key, limit: 100 });
    await send(take('k0'), take('k1'), asking('s', { key: 'k2', retention }), take('k3'));
    await send(take('k1', 'b', { queue: true }), take('k0', 'b', { queue: false }));
    await at.redis.hset('s:{k3}', 's', 'damaged');
    const shown = await Promise.allSettled(at.store.execute(names(4).map(show)));
    expect(shown).toMatchObject([
      { value: { holderCount: 1, waiterCount: 0 } },
      { value: { holderCount: 1, waiterCount: 1 } },
      { value: { kind: 'semaphore', capacity: 2000, holderCount: 1 } },
      { status: 'rejected', reason: { name: 'UnreadableRecord' } },
    ]);
  });

  it('each mutex has its next fence, also if that is in the future', async () => {
    const root = { handOffs: 10_000_000 };
    const fences = async (id: string): Promise<number[]> => {
      const taken = await Promise.all(
        at.store.execute([take('k0', id, root), take('k1', id), take('k2', id, root)]),
      );
      await send(...names(3).map((key) => free(key, id)));
      return taken.map((reply) => (reply.status === 'granted' ? reply.fence : 0));
    };
    const before = (await fences('a')) as [number, number, number];
    const after = (await fences('b')) as [number, number, number];
    expect([after[0], after[2]]).toEqual([before[0] + 10_000_001, before[2] + 10_000_001]);
    expect(after[1]).toBeGreaterThan(before[1]);
    expect(after[1]).toBeLessThan(before[1] + 10_000_000);
    expect(await at.calls('evalsha')).toEqual([2 * 3]);
  });

  it('a mutex that is held is asked for in the same call', async () => {
    await send(take('held'));
    await at.redis.config('RESETSTAT');
    const three = (id: string): Command[] => [take('k0', id), take('held', id), take('k1', id)];
    expect(await send(...three('b'))).toEqual(['granted', 'queued', 'granted']);
    expect(await at.calls('evalsha')).toEqual([1]);
    expect(await send(free('k0', 'b'), free('held', 'b'), free('k1', 'b'))).toEqual([
      ...(['freed', 'dequeued', 'freed'] as const),
    ]);
    expect(await at.calls('evalsha')).toEqual([2]);
    await send(free('held'));
    expect(await send(...three('c'))).toEqual(['granted', 'granted', 'granted']);
    await send(free('k0', 'c'), free('held', 'c'), free('k1', 'c'));
    expect(await at.calls('evalsha')).toEqual([5]);
  });

  it('a mutex that is held keeps the order of the calls', async () => {
    for (let round = 0; round < 10; round++) {
      const held = `held ${round}`;
      await send(take(held));
      const asked = ['b', 'c', 'd'].map((id) =>
        // a single call, or one of several: both come in the order in which they were sent
        at.store.execute(id === 'c' ? [take(held, id)] : [take(`${id} ${round}`), take(held, id)]),
      );
      const replies = await Promise.all(asked.map((batch) => batch.at(-1) as Promise<Reply>));
      const tickets = replies.map((one) => (one.status === 'queued' ? one.ticket : 0));
      expect(tickets).toEqual(tickets.toSorted((a, b) => a - b));
      expect(new Set(tickets).size).toBe(3);
    }
  });

  it('a withdrawal comes after the acquisition of an earlier call', async () => {
    await send(take('held'));
    const [, queued] = at.store.execute([take('k0', 'b'), take('held', 'b')]);
    const [withdrawn] = at.store.execute([free('held', 'b')]);
    expect(await Promise.all([queued, withdrawn])).toMatchObject([
      ...[{ status: 'queued' }, { status: 'dequeued' }],
    ]);
  });

  it('a waiter of a call with others is told of its grant with its own token', async () => {
    const heard: string[] = [];
    const channel = await at.store.listen('c', {
      push: (push) => push.kind === 'grant' && heard.push(push.token),
      ...{ up: () => undefined, down: () => undefined },
    });
    await send(take('k0'), take('k1'));
    const waiting = (key: string, id: string): Acquire =>
      take(key, id, { channel: channel.name, token: `token of ${id}`.replaceAll(' ', '-') });
    await send(waiting('k0', 'b'), waiting('k1', 'c'));
    await send(free('k0'), free('k1'));
    await until(() => heard.length === 2);
    expect(new Set(heard)).toEqual(new Set(['token-of-b', 'token-of-c']));
    await channel.close();
  });

  it('a release with a waiter serves the queue', async () => {
    await send(take('k0'), take('k1'));
    await send(take('k0', 'b'));
    expect(await send(free('k0'), free('k1'))).toEqual(['freed', 'freed']);
    expect(await send(take('k0', 'b'), take('k1', 'b'))).toEqual(['granted', 'granted']);
    expect(await send(free('k0', 'b'), free('k0', 'b'))).toEqual(['freed', 'absent']);
  });

  it('commands of one mutex are executed in their order', async () => {
    await send(take('k0'), take('k1'));
    const [freed, granted] = await send(free('k0'), take('k0', 'b'), free('k1'), take('k2'));
    expect([freed, granted]).toEqual(['freed', 'granted']);
  });

  it('other acquisitions have their own calls', async () => {
    const others = [
      take('k1', 'a', { owner: 'o' }),
      take('k2', 'a', { capacity: 3 }),
      take('k3', 'a', { capacity: 3, weight: 2 }),
    ];
    const granted = await Promise.all(at.store.execute([take('k0'), ...others, take('k4')]));
    expect(granted.map(({ status }) => status)).toEqual(Array(5).fill('granted'));
    expect(await at.calls('evalsha')).toEqual([4]);
    const inspect = await Promise.all(
      at.store.execute(names(5).map((key) => ({ op: 'inspect', key, limit: 10 }) as const)),
    );
    const held = inspect.map((one) => (one.status === 'inspected' ? one.used : undefined));
    expect(held).toEqual([1, 1, 1, 2, 1]);
  });

  it('acquisitions of other terms have other calls, and each keeps its terms', async () => {
    const ttls = [5000, 10_000];
    const commands = ttls.flatMap((ttl) => [
      take(`k${ttl}`, 'a', { ttl }),
      take(`l${ttl}`, 'a', { ttl }),
    ]);
    const replies = await Promise.all(at.store.execute(commands));
    expect(replies.map((reply) => (reply.status === 'granted' ? reply.left : 0))).toEqual([
      ...[5e6, 5e6, 10e6, 10e6],
    ]);
    expect(await at.calls('evalsha')).toEqual([2]);
  });

  it('an error affects only its key', async () => {
    await at.redis.set('s:{text}', 'not a record');
    const answers = at.store.execute([take('k0'), take('text'), take('k1')]);
    await expect(answers[1]).rejects.toThrow(/WRONGTYPE/);
    expect(await Promise.all([answers[0], answers[2]])).toMatchObject([
      ...[{ status: 'granted' }, { status: 'granted' }],
    ]);
  });

  it('a server without memory refuses acquisitions, and executes releases', async () => {
    await send(take('k0'), take('k1'));
    await at.redis.config('SET', 'maxmemory', '1');
    try {
      for (const refused of at.store.execute([take('k2'), take('k3')])) {
        await expect(refused).rejects.toThrow(/^OOM/);
      }
      expect(await send(free('k0'), free('k1'))).toEqual(['freed', 'freed']);
    } finally {
      await at.redis.config('SET', 'maxmemory', '0');
    }
  });

  it('a server that forgot its scripts gets their text', async () => {
    await at.redis.script('FLUSH');
    expect(await send(take('k0'), take('k1'))).toEqual(['granted', 'granted']);
    expect(await send(free('k0'), free('k1'))).toEqual(['freed', 'freed']);
  });

  it('a client inside MULTI gets an error that names it', async () => {
    await at.redis.multi({ pipeline: false });
    for (const refused of at.store.execute([take('k0'), take('k1')])) {
      await expect(refused).rejects.toThrow(/inside MULTI/);
    }
    await at.redis.discard();
  });

  it('a user without rights on one of the keys gets an error for that one only', async () => {
    await at.redis.acl('SETUSER', 'some', 'on', '>pw', '~s:{k*', '&*', '+@all');
    const client = new Redis(at.server.port, at.server.host, { username: 'some', password: 'pw' });
    const other = new RedisStore(portFor(client), 's:');
    for (let round = 0; round < 2; round++) {
      const id = `a${round}`;
      const answers = other.execute([take(`k${round}`, id), take('other', id), take('k9', id)]);
      await expect(answers[1]).rejects.toThrow(/NOPERM/);
      expect(await answers[0]).toMatchObject({ status: 'granted' });
    }
    client.disconnect();
  });

  it('a node of a cluster gets one call for each command', async () => {
    await using cluster = await startServer({ server: name, args: ['--cluster-enabled', 'yes'] });
    await cluster.command('CLUSTER', 'ADDSLOTSRANGE', 0, 16_383);
    await until(async () => String(await cluster.command('CLUSTER', 'INFO')).includes('state:ok'));
    const client = new Redis(cluster.port, cluster.host);
    at.renew(client);
    for (const id of ['a', 'b']) {
      expect(new Set(await send(...names(10).map((key) => take(key, id))))).toEqual(
        new Set(['granted']),
      );
      expect(new Set(await send(...names(10).map((key) => free(key, id))))).toEqual(
        new Set(['freed']),
      );
    }
    client.disconnect();
  });

  it('releases that the client sent twice over two connections count as unanswered', async () => {
    const port = portFor(at.redis);
    let connection = {};
    let repeats = false;
    const twice: ClientPort = {
      ...port,
      connection: () => connection,
      evalsha: (batch) => {
        if (!repeats) return port.evalsha(batch);
        void port.evalsha(batch).map((answer) => answer.catch(() => undefined));
        return port.evalsha(batch).map((answer) => answer.finally(() => (connection = {})));
      },
    };
    const store = new RedisStore(twice, 's:');
    for (const id of ['first', 'a']) {
      await Promise.all(store.execute([take('k0', id), take('k1', id)]));
      if (id === 'first') await Promise.all(store.execute([free('k0', id), free('k1', id)]));
    }
    repeats = true;
    for (const unknown of store.execute([free('k0'), free('k1')])) {
      await expect(unknown).rejects.toMatchObject({ kind: 'unanswered' });
    }
    expect(await send(take('k0', 'b'), take('k1', 'b'))).toEqual(['granted', 'granted']);
  });
});
