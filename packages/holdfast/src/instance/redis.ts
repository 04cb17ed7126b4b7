import type { RedisClient } from '../store/clients/detect.js';
import { recognize } from '../store/clients/shape.js';
import { HoldfastError } from '../base/errors.js';
import type { HoldfastStore } from './holdfast-core.js';
import { PREFIX } from '../base/prefix.js';
import { LazyStore } from '../store/lazy-store.js';
import type { Store } from '../store/port.js';

/**
 * The store on the Redis or Valkey server of a client, for `HoldfastCore`.
 * @throws HOLDFAST_BAD_OPTION if `client` is no client of ioredis or node-redis
 */
export function redis(client: RedisClient): HoldfastStore {
  return redisStore(client, 'client');
}

export function redisStore(client: unknown, option: string): Store {
  try {
    const { library, hasLine } = recognize(client);
    const load = async (prefix: string): Promise<Store> => {
      const [{ portOf }, { RedisStore }] = await Promise.all([
        import('../store/clients/detect.js'),
        import('../store/redis/redis-store.js'),
      ]);
      return new RedisStore(portOf(client as object), prefix);
    };
    const clients = [client as object];
    const parts = { label: library, acknowledges: hasLine, clients, load };
    return new LazyStore(parts, PREFIX);
  } catch (error) {
    const message = `Holdfast: ${error instanceof Error ? error.message : String(error)}`;
    throw new HoldfastError('HOLDFAST_BAD_OPTION', message, { option, cause: error });
  }
}
