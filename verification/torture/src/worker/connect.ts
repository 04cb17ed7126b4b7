/**
 * The clients of the processes with default options, except that those of Redis reconnect sooner.
 * By default the pauses between two attempts grow to 5 s in ioredis and to 2 s in node-redis, which
 * is longer than most faults. Only the chosen client is loaded.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { HoldfastStore, RedisClient } from 'holdfast';
import { pick, randomFrom } from 'holdfast-trials/support/random';
import type { Pool } from 'pg';
import { keyOf, post } from '../etcd/requests.js';
import { type ClientName, isRegister, quorumOptions, type WorkerSettings } from '../settings.js';
import type { Library } from './library.js';

const RETRY_MS_MAX = 500;

/** A time limit of the client for a command, shorter than that of the library, in ms. */
const LIMIT_MS = 300;

/** What a process locks with. */
export interface Access {
  /** The store of a new instance. */
  readonly make: () => HoldfastStore | RedisClient;
  /** Deletes a lock: its record, and that of a quorum. */
  readonly remove: (k: string) => Promise<unknown>;
  /** For transactions of the program itself, on PostgreSQL. */
  readonly pool?: Pool;
}

/** Connects; the server may be down when the process starts. */
export async function accessTo(all: WorkerSettings, library: Library): Promise<Access> {
  const { store } = all;
  if (!isRegister(store)) return toServers(all, library);
  if (store === 'etcd') return toEtcd(all, library);
  return store === 'postgres' ? toPostgres(all, library) : toSqlite(all, library);
}

async function toServers(all: WorkerSettings, { quorum }: Library): Promise<Access> {
  const { urls, client, forgets } = all;
  // some clients end commands without a reply themselves
  const isLimited = randomFrom(all.seed)() < 0.3;
  const clients = await Promise.all(urls.map((url) => connect(client, url, isLimited)));
  const [first] = clients as [RedisClient];
  return {
    make: () => (clients.length > 1 ? quorum(clients, quorumOptions(forgets)) : first),
    remove: (k) => Promise.all(urls.map((url) => remove(url, k))),
  };
}

async function toPostgres(all: WorkerSettings, library: Library): Promise<Access> {
  const { urls, client, seed } = all;
  const [connectionString = ''] = urls;
  const random = randomFrom(seed);
  const limits = { connectionTimeoutMillis: 1000, query_timeout: 4000 };
  const { default: pg } = await import('pg');
  const pool = new pg.Pool({ connectionString, ...limits });
  pool.on('error', () => undefined);
  // the server may end a connection in the moment in which the pool gives it to the program
  pool.on('connect', (one) => one.on('error', () => undefined));
  const { postgres } = await library.postgres();
  const source =
    client === 'pg' ? pool : (await import('postgres')).default(connectionString, { max: 2 });
  return {
    make: () =>
      postgres(source, {
        timeout: pick(random, [500, 1000, 3000]),
        listen: random() < 0.8,
        prepare: random() < 0.7,
      }),
    remove: (k) => pool.query('DELETE FROM holdfast_locks WHERE key = $1', [`holdfast:lock:${k}`]),
    pool,
  };
}

async function toSqlite(all: WorkerSettings, library: Library): Promise<Access> {
  const { urls, seed } = all;
  const [file = ''] = urls;
  const random = randomFrom(seed);
  const { whenFree } = await import('../sqlite/client.js');
  const { sqlite } = await library.sqlite();
  return {
    make: () => sqlite(file, { timeout: pick(random, [300, 3000]), listen: random() < 0.8 }),
    remove: (k) => {
      const text = 'DELETE FROM holdfast_locks WHERE key = ?';
      return whenFree(file, (database) => database.prepare(text).run(`holdfast:lock:${k}`));
    },
  };
}

async function toEtcd({ urls, seed }: WorkerSettings, library: Library): Promise<Access> {
  const random = randomFrom(seed);
  const { etcd } = await library.etcd();
  return {
    make: () => etcd(urls, { timeout: pick(random, [600, 1500, 3000]), listen: random() < 0.8 }),
    remove: (k) => post(urls[0] as string, 'kv/deleterange', { key: keyOf(k) }),
  };
}

async function remove(url: string, k: string): Promise<void> {
  const { Redis } = await import('ioredis');
  const client = new Redis(url);
  client.on('error', () => undefined);
  await client.del(`holdfast:{${k}}`, `holdfast:lock:${k}`);
  client.disconnect();
}

async function connect(name: ClientName, url: string, isLimited: boolean): Promise<RedisClient> {
  const pause = (retries: number): number => Math.min(50 * retries, RETRY_MS_MAX);
  if (name === 'ioredis') {
    const { Redis } = await import('ioredis');
    const client = new Redis(url, {
      retryStrategy: pause,
      ...(isLimited && { commandTimeout: LIMIT_MS }),
    });
    client.on('error', () => undefined);
    while (client.status !== 'ready') await sleep(20);
    return client;
  }
  const { createClient } = await import('redis');
  const client = createClient({
    url,
    socket: { reconnectStrategy: pause },
    ...(isLimited && { commandOptions: { timeout: LIMIT_MS } }),
  });
  client.on('error', () => undefined);
  await client.connect();
  return client;
}
