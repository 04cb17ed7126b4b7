/** The clients of the trials, each with its default options. */
import type { NodeRedisLike, RedisClient } from 'holdfast';
import { Redis as Redis6 } from 'ioredis';
import { Redis as Redis5 } from 'ioredis-5';
import { createClient as createClient6 } from 'redis';
import { createClient as createClient5 } from 'redis-5';

export const CLIENTS = ['ioredis-6', 'node-redis-6', 'ioredis-5', 'node-redis-5'] as const;
export type ClientName = (typeof CLIENTS)[number];

/** A connected client, and the function that closes it. */
export interface Connected {
  readonly client: RedisClient;
  readonly close: () => void;
}

/** Connects a client to a server or a proxy by its URL. */
export async function connect(name: ClientName, url: string): Promise<Connected> {
  switch (name) {
    case 'ioredis-6':
      return ioredis(new Redis6(url, { lazyConnect: true }));
    case 'ioredis-5':
      return ioredis(new Redis5(url, { lazyConnect: true }));
    case 'node-redis-6':
      return nodeRedis(createClient6({ url }) as NodeRedis);
    case 'node-redis-5':
      return nodeRedis(createClient5({ url }) as NodeRedis);
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
