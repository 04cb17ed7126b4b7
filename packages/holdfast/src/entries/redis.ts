/** The entry `holdfast/redis`: the store on Redis or Valkey. */
export type { RedisClient } from '../clients/detect.js';
export type { IoredisLike } from '../clients/ioredis.js';
export type { IoredisSettings } from '../clients/ioredis-subscription.js';
export type { NodeRedisLike } from '../clients/node-redis.js';
export type { NodeRedisSettings } from '../clients/node-redis-subscription.js';
export type { HoldfastStore } from '../holdfast-core.js';
export { redis } from '../redis.js';
