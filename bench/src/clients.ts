/**
 * The measured clients, and the simple lock on each of them for comparison: `SET NX PX`, and a
 * script that deletes the key if it still contains the holder's token.
 */
import { createHash } from 'node:crypto';
import { Redis as Redis6 } from 'ioredis';
import { Redis as Redis5 } from 'ioredis-5';
import { createClient as createClient6 } from 'redis';
import { createClient as createClient5 } from 'redis-5';

export const CLIENTS = ['ioredis', 'node-redis', 'ioredis-5', 'node-redis-5'] as const;
export type ClientName = (typeof CLIENTS)[number];

/** A connected client, and the simple lock on it. */
export interface Bare {
  readonly name: ClientName;
  /** The client itself, for Holdfast. */
  readonly client: object;
  /** True if the lock was free. */
  acquire(key: string, token: string, ms: number): Promise<boolean>;
  /** True if the key contained `token`. */
  release(key: string, token: string): Promise<boolean>;
  close(): Promise<void>;
}

const COMPARE_AND_DELETE = `if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
return 0`;
const SHA = createHash('sha1').update(COMPARE_AND_DELETE).digest('hex');

/** Connects a client with its default options, and loads the script of the simple lock. */
export function connect(name: ClientName, port: number): Promise<Bare> {
  switch (name) {
    case 'ioredis':
      return ioredis(name, new Redis6({ host: HOST, port }));
    case 'ioredis-5':
      return ioredis(name, new Redis5({ host: HOST, port }));
    case 'node-redis':
      return nodeRedis(name, createClient6({ socket: { host: HOST, port } }) as NodeRedis);
    case 'node-redis-5':
      return nodeRedis(name, createClient5({ socket: { host: HOST, port } }) as NodeRedis);
  }
}

const HOST = '127.0.0.1';

async function ioredis(name: ClientName, client: Redis5 | Redis6): Promise<Bare> {
  await client.script('LOAD', COMPARE_AND_DELETE);
  return {
    name,
    client,
    acquire: async (key, token, ms) => (await client.set(key, token, 'PX', ms, 'NX')) === 'OK',
    release: async (key, token) => (await client.evalsha(SHA, 1, key, token)) === 1,
    close: async () => void (await client.quit()),
  };
}

/** The part of node-redis in use; the package's own types list every command. */
interface NodeRedis {
  on(event: 'error', listener: () => void): unknown;
  connect(): Promise<unknown>;
  scriptLoad(source: string): Promise<unknown>;
  set(key: string, value: string, options: object): Promise<unknown>;
  evalSha(sha: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>;
  close(): Promise<unknown>;
}

async function nodeRedis(name: ClientName, client: NodeRedis): Promise<Bare> {
  client.on('error', () => undefined);
  await client.connect();
  await client.scriptLoad(COMPARE_AND_DELETE);
  return {
    name,
    client,
    acquire: async (key, token, ms) => {
      const options = { condition: 'NX', expiration: { type: 'PX', value: ms } };
      return (await client.set(key, token, options)) === 'OK';
    },
    release: async (key, token) =>
      (await client.evalSha(SHA, { keys: [key], arguments: [token] })) === 1,
    close: async () => void (await client.close()),
  };
}
