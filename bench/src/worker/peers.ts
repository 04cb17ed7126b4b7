/**
 * The libraries of the npm registry. Each runs with unlimited attempts, and polls every 10 ms if it
 * polls and its user may choose the interval: with their own defaults most would wait longer.
 */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ATTEMPTS, type Given, type Library, POLL_MS } from './library.js';

/** A module of a peer, without its types: they are not installed when this file is compiled. */
// oxlint-disable-next-line typescript/no-explicit-any
type Module = any;

type Open = (given: Given, load: (name: string) => Promise<Module>) => Promise<Library>;

const HOST = '127.0.0.1';

async function ioredis({ port }: Given, load: (name: string) => Promise<Module>): Promise<Module> {
  const { Redis } = await load('ioredis');
  return new Redis({ host: HOST, port });
}

async function nodeRedis(
  { port }: Given,
  load: (name: string) => Promise<Module>,
): Promise<Module> {
  const { createClient } = await load('redis');
  const client = createClient({ socket: { host: HOST, port } });
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

const OPEN: Readonly<Record<string, Open>> = {
  redlock: async (given, load) => {
    const client = await ioredis(given, load);
    const { default: Redlock } = await load('redlock');
    const settings = { retryCount: -1, retryDelay: POLL_MS, retryJitter: POLL_MS / 2 };
    const redlock = new Redlock([client], settings);
    redlock.on('error', () => undefined);
    return {
      acquire: (key) => redlock.acquire([key], given.ttl),
      close: async () => client.disconnect(),
    };
  },
  'redis-semaphore': async (given, load) => {
    const client = await ioredis(given, load);
    const { Mutex } = await load('redis-semaphore');
    const options = {
      lockTimeout: given.ttl,
      acquireTimeout: Infinity,
      acquireAttemptsLimit: Infinity,
      retryInterval: POLL_MS,
      refreshInterval: given.renew ? given.ttl * 0.8 : 0,
      onLockLost: () => undefined,
    };
    return {
      acquire: async (key) => {
        const mutex = new Mutex(client, key, options);
        await mutex.acquire();
        return mutex;
      },
      close: async () => client.disconnect(),
    };
  },
  'redlock-universal': async (given, load) => {
    const client = await ioredis(given, load);
    const { createLock, IoredisAdapter } = await load('redlock-universal');
    const adapter = new IoredisAdapter(client);
    const options = { adapter, ttl: given.ttl, retryAttempts: ATTEMPTS, retryDelay: POLL_MS };
    // a lock object for each key: a new one for each acquisition would send a PING each
    const locks = new Map<string, Module>();
    return {
      acquire: async (key) => {
        const lock = locks.get(key) ?? createLock({ ...options, key });
        locks.set(key, lock);
        const handle = await lock.acquire();
        return { release: () => lock.release(handle) };
      },
      close: async () => client.disconnect(),
    };
  },
  '@verrou/core': async (given, load) => {
    const client = await ioredis(given, load);
    const { LockFactory } = await load('@verrou/core');
    const { redisStore } = await load('@verrou/core/drivers/redis');
    const store = redisStore({ connection: client }).factory();
    const factory = new LockFactory(store, { retry: { attempts: Infinity, delay: POLL_MS } });
    return {
      acquire: async (key) => {
        const lock = factory.createLock(key, given.ttl);
        await lock.acquire();
        return lock;
      },
      close: async () => client.disconnect(),
    };
  },
  'node-redisson': async (given, load) => {
    const { Redisson } = await load('node-redisson');
    const redisson = new Redisson({
      redis: { options: { host: HOST, port: given.port } },
      lockWatchdogTimeout: BigInt(given.ttl),
    });
    let count = 0;
    return {
      acquire: async (key) => {
        // reentrant for its client id, so each acquisition has its own
        const lock = redisson.getLock(key, `${process.pid}.${count++}`);
        await lock.lock();
        return { release: () => lock.unlock() };
      },
      close: () => redisson.quit(),
    };
  },
  'simple-redis-mutex': async (given, load) => {
    const client = await nodeRedis(given, load);
    const { lock } = await load('simple-redis-mutex');
    return {
      acquire: async (key) => {
        const release = await lock(client, key, { timeout: given.ttl, pollingInterval: POLL_MS });
        return { release, fence: release.fencingToken };
      },
      close: async () => client.destroy(),
    };
  },
  '@redis-kit/lock': async (given, load) => {
    const client = await nodeRedis(given, load);
    const { Redlock } = await load('@redis-kit/lock');
    const options = { maxRetryAttempts: ATTEMPTS, retryDelayMs: POLL_MS, retryJitterMs: 5 };
    const redlock = new Redlock([client], options);
    return {
      acquire: async (key) => {
        const lock = await redlock.acquire(key, given.ttl);
        if (lock === null) throw new Error('acquire gave up');
        if (given.renew) lock.startAutoExtension(given.ttl / 2);
        return lock;
      },
      close: async () => client.destroy(),
    };
  },
  'async-mutex': async (_, load) => {
    const { Mutex } = await load('async-mutex');
    const mutexes = new Map<string, Module>();
    return {
      acquire: async (key) => {
        const mutex = mutexes.get(key) ?? new Mutex();
        mutexes.set(key, mutex);
        const release = await mutex.acquire();
        return { release: async () => release() };
      },
      close: async () => undefined,
    };
  },
};

export async function openPeer(given: Given): Promise<Library> {
  const { peersFolder, variant } = given;
  const open = OPEN[variant.library];
  if (open === undefined || peersFolder === undefined) throw new Error(`no ${variant.library}`);
  // this module lies in the peers' folder, so names resolve there
  const { load } = await import(pathToFileURL(join(peersFolder, 'load.js')).href);
  return open(given, load);
}
