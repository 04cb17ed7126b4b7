/**
 * The clients of the processes: ioredis 6 and node-redis 6 with default options, except that they
 * reconnect sooner. By default the pauses between two attempts grow to 5 s in ioredis and to 2 s in
 * node-redis, which is longer than most faults. Only the chosen client is loaded.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { RedisClient } from 'holdfast';
import type { ClientName } from '../settings.js';

const RETRY_MS_MAX = 500;

/** A time limit of the client for a command, shorter than that of the library, in ms. */
const LIMIT_MS = 300;

/**
 * Connects; the server may be down when the process starts.
 * @param limited true for a client that ends commands without a reply itself
 */
export async function connect(
  name: ClientName,
  url: string,
  limited: boolean,
): Promise<RedisClient> {
  const pause = (retries: number): number => Math.min(50 * retries, RETRY_MS_MAX);
  if (name === 'ioredis') {
    const { Redis } = await import('ioredis');
    const client = new Redis(url, {
      retryStrategy: pause,
      ...(limited && { commandTimeout: LIMIT_MS }),
    });
    client.on('error', () => undefined);
    while (client.status !== 'ready') await sleep(20);
    return client;
  }
  const { createClient } = await import('redis');
  const client = createClient({
    url,
    socket: { reconnectStrategy: pause },
    ...(limited && { commandOptions: { timeout: LIMIT_MS } }),
  });
  client.on('error', () => undefined);
  await client.connect();
  return client;
}
