/**
 * Dead waiters on a real server: whom a subscriber of a pattern must not bring to life, and what
 * they cost where the user of the scripts may not ask who subscribes, or may not subscribe at all.
 */
import { type Proxy, type Server, startProxy, until } from 'holdfast-testkit';
import { Redis } from 'ioredis';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Holdfast, HoldfastOptions } from '../../src/index.js';
import { Made, openClient, serverOf, stopServersAfterwards } from '../support/backends.js';
import { asleep } from '../suites/condition-helpers.js';
import { freshKey, later, queued, turn } from '../suites/helpers.js';

const made = new Made();
afterEach(() => made.close());
stopServersAfterwards();

const COMBINATIONS = [
  ['ioredis-6', 'redis'],
  ['node-redis-6', 'valkey'],
] as const;

/** Each user may do all but what is named. */
const USERS = { all: [], uncounted: ['-pubsub'], deaf: ['resetchannels'] } as const;
type User = keyof typeof USERS;

describe.each(COMBINATIONS)('%s on %s', (client, name) => {
  let server: Server;
  let proxy: Proxy;
  let watcher: Redis;

  beforeAll(async () => {
    server = await serverOf(name);
    for (const [user, rules] of Object.entries(USERS)) {
      const all = ['on', '>pw', '~*', '&*', '+@all', ...rules];
      await server.command('ACL', 'SETUSER', user, ...all);
    }
  });
  beforeEach(async () => {
    proxy = await startProxy(server);
    watcher = new Redis(server.port, server.host);
  });
  afterEach(async () => {
    watcher.disconnect();
    await proxy.close();
  });

  const make = (user: User, where: Server | Proxy, options: HoldfastOptions): Promise<Holdfast> => {
    const { host, port } = where;
    return made.on(openClient(client, { host, port, username: user, password: 'pw' }), options);
  };

  /** Behind a holder so many processes wait, then one more; then those are cut off. */
  async function deadQueue(user: User, key: string, counts: { processes: number; each: number }) {
    // a dead waiter that is taken for alive costs more than the time limit of a test, or a window
    const patient = { ttl: 600_000, retention: 600_000, requestTimeout: 500 };
    const options = { ...patient, claimWindow: counts.processes > 1 ? 60_000 : 800 };
    const holder = await make(user, server, options);
    const lease = await holder.mutex(key).acquire();
    const wanted = counts.processes * counts.each;
    for (let n = 0; n < counts.processes; n++) {
      const dead = await make(user, proxy, options);
      for (let m = 0; m < counts.each; m++) void later(dead.mutex(key).acquire());
    }
    await queued(holder, key, wanted);
    if (user !== 'deaf') await until(async () => (await channels()) === counts.processes);
    const living = (await make(user, server, options)).mutex(key).acquire();
    await queued(holder, key, wanted + 1);
    proxy.refuse();
    proxy.cut();
    return { lease, living };
  }

  /** Wake channels that have a subscriber, other than those of the holder and the last waiter. */
  async function channels(): Promise<number> {
    const all = (await server.command('PUBSUB', 'CHANNELS', 'holdfast:wake:*')) as string[];
    return all.length;
  }

  it('a subscriber of a pattern does not keep them alive', async () => {
    await watcher.psubscribe('*');
    const { lease, living } = await deadQueue('all', freshKey(), { processes: 12, each: 1 });
    await until(async () => (await channels()) <= 1);
    await lease.release();
    expect((await living).held).toBe(true);
  });

  it('a user who may not ask who subscribes pays one claim window for a process', async () => {
    await watcher.psubscribe('*');
    // 60 windows would be more than the time limit of a test
    const { lease, living } = await deadQueue('uncounted', freshKey(), { processes: 1, each: 60 });
    await lease.release();
    expect((await living).held).toBe(true);
  });

  it('a user who may not subscribe pays one claim window for a process', async () => {
    const { lease, living } = await deadQueue('deaf', freshKey(), { processes: 1, each: 60 });
    await lease.release();
    expect((await living).held).toBe(true);
  });

  it('a user who may not ask who subscribes is served by push', async () => {
    const options = { claimWindow: 20_000, retention: 60_000 };
    const one = await make('uncounted', server, options);
    const other = await make('uncounted', server, options);
    const key = freshKey();
    const lease = await one.mutex(key).acquire();
    const waiting = other.mutex(key).acquire();
    await queued(one, key, 1);
    await until(async () => (await channels()) === 1);
    await lease.release();
    expect((await waiting).held).toBe(true);
  });

  it('a user who may not subscribe is served behind 1,100 parked acquisitions', async () => {
    const one = await make('deaf', server, { claimWindow: 200, requestTimeout: 5000 });
    const other = await make('deaf', server, {});
    const key = freshKey();
    const mutex = one.mutex(key);
    const back = await parkMany(one, key, 1100);
    const lease = await other.mutex(key).acquire();
    const waiting = mutex.acquire();
    await queued(other, key, 1);
    await lease.release();
    await (await waiting).release();
    const signaller = other.mutex(key);
    const woken = signaller.run((signalled) => signaller.condition('c').signalAll(signalled));
    expect(await woken).toBe(1100);
    await until(() => back.count >= 3);
  });

  it('2,500 parked acquisitions of one process are woken by a signal', async () => {
    const one = await make('all', server, {});
    const other = await make('all', server, {});
    const key = freshKey();
    const back = await parkMany(one, key, 2500);
    const mutex = other.mutex(key);
    expect(await mutex.run((lease) => mutex.condition('c').signalAll(lease))).toBe(2500);
    await until(() => back.count === 2500, { within: 25_000 });
  });

  /** So many of one process wait at a condition; counts those that came back. */
  async function parkMany(holdfast: Holdfast, key: string, count: number) {
    const back = { count: 0 };
    const mutex = holdfast.mutex(key);
    for (let n = 0; n < count; n++) {
      const lease = await mutex.acquire();
      const parked = mutex.condition('c').await(lease);
      // the next one is asked for behind it
      await turn();
      later(parked.then(() => lease.release())).then(
        () => {
          back.count += 1;
        },
        () => undefined,
      );
    }
    await asleep(holdfast, key, count);
    return back;
  }
});
