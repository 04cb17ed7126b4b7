/**
 * Dead waiters on a real server: a pattern subscriber must not make them look alive. What they cost
 * when the user of the scripts lacks the right to PUBSUB or to subscribe.
 */
import { paced, type Proxy, type Server, startProxy, until } from 'holdfast-testkit';
import { Redis } from 'ioredis';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Holdfast, HoldfastOptions } from '../../src/index.js';
import { Made, openClient, serverOf, stopServersAfterwards } from '../support/backends.js';
import { waitForParked } from '../suites/condition-helpers.js';
import { freshKey, later, queued, turn } from '../suites/helpers.js';

const made = new Made();
afterEach(() => made.close());
stopServersAfterwards();

const COMBINATIONS = [
  ['ioredis-6', 'redis'],
  ['node-redis-6', 'valkey'],
] as const;

/** Each user has all rights except the named one. */
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

  /**
   * Queues acquisitions of `processes` processes behind a holder, then one more, and cuts off the
   * first ones.
   */
  async function deadQueue(user: User, key: string, counts: { processes: number; each: number }) {
    // a dead waiter that is taken for alive costs a claim window, or more than the test's time
    // limit
    const patient = { ttl: 600_000, retention: 600_000, requestTimeout: 500 };
    const options = { ...patient, claimWindow: counts.processes > 1 ? 60_000 : 800 };
    const holder = await make(user, server, options);
    const lease = await holder.mutex(key).acquire();
    const wanted = counts.processes * counts.each;
    for (let n = 0; n < counts.processes; n++) {
      const dead = await make(user, proxy, options);
      // the acquisitions of different owners have an entry each
      const mutex = dead.mutex(key);
      for (let m = 0; m < counts.each; m++) void later(mutex.acquire({ sharedBy: `${m}` }));
    }
    await queued(holder, key, wanted);
    if (user !== 'deaf') await until(async () => (await channels()) === counts.processes);
    const living = (await make(user, server, options)).mutex(key).acquire();
    await queued(holder, key, wanted + 1);
    proxy.refuse();
    proxy.cut();
    return { lease, living };
  }

  /** Wake channels that have a subscriber, except those of the holder and the last waiter. */
  async function channels(): Promise<number> {
    const all = (await server.command('PUBSUB', 'CHANNELS', 'holdfast:wake:*')) as string[];
    return all.length;
  }

  it('a pattern subscriber does not keep dead waiters alive', async () => {
    await watcher.psubscribe('*');
    const { lease, living } = await deadQueue('all', freshKey(), { processes: 12, each: 1 });
    await until(async () => (await channels()) <= 1);
    await lease.release();
    expect((await living).held).toBe(true);
  });

  it('without PUBSUB rights, a dead process costs one claim window', async () => {
    await watcher.psubscribe('*');
    // 60 windows would exceed the time limit of the test
    const { lease, living } = await deadQueue('uncounted', freshKey(), { processes: 1, each: 60 });
    await lease.release();
    expect((await living).held).toBe(true);
  });

  it('without the right to subscribe, a dead process costs one claim window', async () => {
    const { lease, living } = await deadQueue('deaf', freshKey(), { processes: 1, each: 60 });
    await lease.release();
    expect((await living).held).toBe(true);
  });

  it('without PUBSUB rights, a waiter is served by push', async () => {
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

  it('without the right to subscribe, serves a waiter behind 1,100 parked ones', async () => {
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

  it('a signal wakes 2,500 parked acquisitions of one process', {
    timeout: paced(120_000),
  }, async () => {
    const one = await make('all', server, {});
    const other = await make('all', server, {});
    const key = freshKey();
    const back = await parkMany(one, key, 2500);
    const mutex = other.mutex(key);
    expect(await mutex.run((lease) => mutex.condition('c').signalAll(lease))).toBe(2500);
    await until(() => back.count === 2500, { within: 100_000 });
  });

  /** Parks `count` acquisitions of one process on a condition, and counts those that return. */
  async function parkMany(holdfast: Holdfast, key: string, count: number) {
    const back = { count: 0 };
    const mutex = holdfast.mutex(key);
    for (let n = 0; n < count; n++) {
      const lease = await mutex.acquire();
      const parked = mutex.condition('c').await(lease);
      // the next acquisition queues behind them
      await turn();
      later(parked.then(() => lease.release())).then(
        () => {
          back.count += 1;
        },
        () => undefined,
      );
    }
    await waitForParked(holdfast, key, count);
    return back;
  }
});
