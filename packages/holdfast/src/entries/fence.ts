/**
 * The entry `holdfast/fence`: a resource that refuses the writes of earlier holders.
 *
 * The resource stores the greatest fence that it has seen and refuses a smaller one. An equal fence
 * is accepted, because one lease may write many times. A paused holder that continues after its
 * lease has ended has a smaller fence than the holder after it, so its write is refused (Martin
 * Kleppmann, "How to do distributed locking", 2016).
 */
import { checkKey } from '../checks.js';
import { portFor, type RedisClient } from '../clients/detect.js';
import { badOption, HoldfastError } from '../errors.js';

export type { RedisClient } from '../clients/detect.js';
export type { IoredisLike } from '../clients/ioredis.js';
export type { IoredisSettings } from '../clients/ioredis-subscription.js';
export type { NodeRedisLike } from '../clients/node-redis.js';
export type { NodeRedisSettings } from '../clients/node-redis-subscription.js';

/** SQL for PostgreSQL, see {@link postgres}. */
export interface FenceSql {
  /** Creates the table of the fences, if there is none. */
  readonly createTable: string;
  /**
   * Moves the fence of a name forward. `$1` is the name, for example the key of the lock, and `$2`
   * the fence of the lease. Affects one row if the writes of this lease are accepted, and none if a
   * later holder has been there: then roll back.
   */
  readonly advance: string;
}

/**
 * SQL for a table that holds one fence for each name. Run `advance` in the transaction of your
 * writes, before them: the row stays locked until the transaction ends, so no earlier holder can
 * write between the check and the writes.
 */
export const postgres: FenceSql = {
  createTable: `CREATE TABLE IF NOT EXISTS holdfast_fences (
  name text PRIMARY KEY,
  fence bigint NOT NULL
)`,
  advance: `INSERT INTO holdfast_fences AS current (name, fence) VALUES ($1, $2)
ON CONFLICT (name) DO UPDATE SET fence = excluded.fence
WHERE current.fence <= excluded.fence`,
};

const FENCED_SET = `local seen = tonumber(redis.call('HGET', KEYS[1], 'fence') or '0')
if tonumber(ARGV[2]) < seen then return 0 end
redis.call('HSET', KEYS[1], 'value', ARGV[1], 'fence', ARGV[2])
return 1`;

/**
 * Writes a value to Redis or Valkey, unless a later holder has written: the key is a hash with the
 * fields `value` and `fence`. Resolves to false if the write was refused. A value that is written
 * without this function is not protected.
 *
 * Rejects with HOLDFAST_UNCERTAIN if the client fails: the value may have been written, and the
 * call may be repeated. Rejects with HOLDFAST_REFUSED if the server answers with an error.
 * @param client a client of ioredis or node-redis
 * @param key the key of the value, not of the lock
 * @param fence the fence of the lease under which the value was computed
 * @throws HOLDFAST_BAD_OPTION if an argument is not valid
 */
export async function fencedSet(
  client: RedisClient,
  key: string,
  value: string,
  fence: number,
): Promise<boolean> {
  checkKey(key);
  if (typeof value !== 'string') throw badOption('value', 'a string', value);
  if (!Number.isSafeInteger(fence) || fence < 0) throw badOption('fence', 'a fence', fence);
  const port = portFor(client);
  try {
    return (await port.eval(FENCED_SET, [key], [value, `${fence}`])) === 1;
  } catch (cause) {
    const text = cause instanceof Error ? cause.message : String(cause);
    const code = port.isReply(cause) ? 'HOLDFAST_REFUSED' : 'HOLDFAST_UNCERTAIN';
    throw new HoldfastError(code, `Holdfast: the fenced write failed: ${text}`, { key, cause });
  }
}
