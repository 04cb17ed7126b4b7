/** The ports of all client libraries. */
import { type GlideLike, glidePort } from './glide.js';
import { type IoredisLike, ioredisPort } from './ioredis.js';
import { type IoredisClusterLike, ioredisClusterPort } from './ioredis-cluster.js';
import { type NodeRedisLike, nodeRedisPort } from './node-redis.js';
import { type NodeRedisClusterLike, nodeRedisClusterPort } from './node-redis-cluster.js';
import { type NodeRedisSentinelLike, nodeRedisSentinelPort } from './node-redis-sentinel.js';
import type { ClientPort } from './port.js';
import { recognize, shapeOf } from './shape.js';

/**
 * A client of ioredis, node-redis or valkey-glide, of a server, a cluster or Sentinel, connected or
 * connecting. Holdfast never closes it.
 */
export type RedisClient =
  | IoredisLike
  | NodeRedisLike
  | IoredisClusterLike
  | NodeRedisClusterLike
  | NodeRedisSentinelLike
  | GlideLike;

/** Throws a TypeError that describes an unusable object. */
export function portFor(client: unknown): ClientPort {
  recognize(client);
  return portOf(client as object);
}

export function portOf(client: object): ClientPort {
  const { library, kind } = shapeOf(client);
  if (library === 'valkey-glide') return glidePort(client as GlideLike);
  if (library === 'ioredis') {
    if (kind === 'cluster') return ioredisClusterPort(client as IoredisClusterLike);
    return ioredisPort(client as IoredisLike);
  }
  if (kind === 'cluster') return nodeRedisClusterPort(client as NodeRedisClusterLike);
  if (kind === 'sentinel') return nodeRedisSentinelPort(client as NodeRedisSentinelLike);
  return nodeRedisPort(client as NodeRedisLike);
}
