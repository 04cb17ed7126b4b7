/**
 * The clients of the trials, each with its default options. Only the chosen one is loaded: the
 * packages of all of them take longer to load than the rest of a worker.
 */
import type { NodeRedisLike, RedisClient } from 'holdfast';
import type { Redis as Redis6 } from 'ioredis';
import type { Redis as Redis5 } from 'ioredis-5';

export const CLIENTS = ['ioredis-6', 'node-redis-6', 'ioredis-5', 'node-redis-5'] as const;
export type ClientName = (typeof CLIENTS)[number];

/** A connected client, and the function that closes it. */
export interface Connected {
  readonly client: RedisClient;
  readonly close: () => void;
  /** Puts the present password into the options of the client, where the client needs that. */
  readonly relogin?: () => void;
}

/** Connects a client to a server or a proxy by its URL. */
export async function connect(name: ClientName, url: string): Promise<Connected> {
  const lazyConnect = true;
  switch (name) {
    case 'ioredis-6':
      return ioredis(new (await import('ioredis')).Redis(url, { lazyConnect }));
    case 'ioredis-5':
      return ioredis(new (await import('ioredis-5')).Redis(url, { lazyConnect }));
    case 'node-redis-6':
      return nodeRedis((await import('redis')).createClient({ url }) as NodeRedis);
    case 'node-redis-5':
      return nodeRedis((await import('redis-5')).createClient({ url }) as NodeRedis);
  }
}

/** The part of node-redis in use; the package's own types list every command. */
interface NodeRedis extends NodeRedisLike {
  on(event: 'error', listener: () => void): unknown;
  destroy(): void;
}

async function ioredis(client: Redis5 | Redis6): Promise<Connected> {
  client.on('error', () => undefined);
  await client.connect();
  return { client, close: () => client.disconnect() };
}

async function nodeRedis(client: NodeRedis): Promise<Connected> {
  client.on('error', () => undefined);
  await client.connect();
  return { client, close: () => client.destroy() };
}
