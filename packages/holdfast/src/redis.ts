/** The store on Redis or Valkey, as users create it. */
import { portFor, type RedisClient } from './clients/detect.js';
import { HoldfastError } from './errors.js';
import type { HoldfastStore } from './holdfast-core.js';
import { PREFIX } from './prefix.js';
import type { Store } from './store/port.js';
import { RedisStore } from './store/redis/redis-store.js';

/**
 * The store on the Redis or Valkey server of a client, for `HoldfastCore`.
 * @throws HOLDFAST_BAD_OPTION if `client` is no client of ioredis or node-redis
 */
export function redis(client: RedisClient): HoldfastStore {
  return redisStore(client, 'client');
}

/**
 * The store of a client.
 * @param option the name of the argument, for the error
 */
export function redisStore(client: unknown, option: string): Store {
  try {
    return new RedisStore(portFor(client), PREFIX);
  } catch (error) {
    const message = `Holdfast: ${error instanceof Error ? error.message : String(error)}`;
    throw new HoldfastError('HOLDFAST_BAD_OPTION', message, { option, cause: error });
  }
}
