/**
 * The clients of Holdfast and of the bare lock, with their default options. Each is imported
 * when it is needed, so that a worker starts sooner.
 */
import type { IoredisLike, NodeRedisLike } from 'holdfast';
import type { ClientName } from '../variants.js';

const HOST = '127.0.0.1';

/** The part of ioredis in use. */
export interface Ioredis extends IoredisLike {
  set(key: string, value: string, px: 'PX', ms: number, nx: 'NX'): Promise<unknown>;
  evalsha(sha: string, keys: number, ...words: string[]): Promise<unknown>;
  script(load: 'LOAD', source: string): Promise<unknown>;
  publish(channel: string, text: string): Promise<unknown>;
  subscribe(channel: string): Promise<unknown>;
  on(event: 'message', listener: (channel: string, text: string) => void): unknown;
  disconnect(): void;
}

/** The part of node-redis in use. */
export interface NodeRedis extends NodeRedisLike {
  on(event: 'error', listener: () => void): unknown;
  connect(): Promise<unknown>;
  duplicate(): NodeRedis;
  scriptLoad(source: string): Promise<unknown>;
  set(key: string, value: string, options: object): Promise<unknown>;
  evalSha(sha: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>;
  publish(channel: string, text: string): Promise<unknown>;
  subscribe(channel: string, listener: (text: string) => void): Promise<unknown>;
  destroy(): void;
}

export type Connected =
  | { readonly family: 'ioredis'; readonly client: Ioredis }
  | { readonly family: 'node-redis'; readonly client: NodeRedis };

export async function connect(name: ClientName, port: number): Promise<Connected> {
  const options = { host: HOST, port };
  switch (name) {
    case 'ioredis':
      return ioredis(new (await import('ioredis')).Redis(options));
    case 'ioredis-5':
      return ioredis(new (await import('ioredis-5')).Redis(options));
    case 'node-redis':
      return nodeRedis((await import('redis')).createClient({ socket: options }) as object);
    case 'node-redis-5':
      return nodeRedis((await import('redis-5')).createClient({ socket: options }) as object);
  }
}

const ioredis = (client: Ioredis): Connected => ({ family: 'ioredis', client });

async function nodeRedis(given: object): Promise<Connected> {
  const client = given as NodeRedis;
  client.on('error', () => undefined);
  await client.connect();
  return { family: 'node-redis', client };
}

export function disconnect({ family, client }: Connected): void {
  if (family === 'ioredis') client.disconnect();
  else client.destroy();
}
