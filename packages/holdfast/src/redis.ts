/** The entry `holdfast/redis`: the store on Redis or Valkey. */
export type { RedisClient } from './store/clients/detect.js';
export type { IoredisLike } from './store/clients/ioredis.js';
export type { IoredisSettings } from './store/clients/ioredis-subscription.js';
export type { NodeRedisLike } from './store/clients/node-redis.js';
export type { NodeRedisSettings } from './store/clients/node-redis-subscription.js';
export type { HoldfastStore } from './instance/holdfast-core.js';
export { redis } from './instance/redis.js';
