/**
 * The entry `holdfast/fence`: a resource that refuses the writes of earlier holders.
 *
 * The resource stores the greatest fence that it has seen and refuses a smaller one; an equal one
 * is accepted, because one lease may write many times. A paused holder that continues has a smaller
 * fence than the next one, so its write is refused (Martin Kleppmann, "How to do distributed
 * locking", 2016).
 */
import { randomBytes } from 'node:crypto';
import { checkKey } from './base/checks.js';
import { portOfOption } from './instance/client-port.js';
import type { RedisClient } from './store/clients/detect.js';
import { badOption, HoldfastError } from './base/errors.js';

export type { RedisClient } from './store/clients/detect.js';
export type { IoredisLike } from './store/clients/ioredis.js';
export type { IoredisSettings } from './store/clients/ioredis-subscription.js';
export type { NodeRedisLike } from './store/clients/node-redis.js';
export type { NodeRedisSettings } from './store/clients/node-redis-subscription.js';

/** See {@link postgres}. */
export interface FenceSql {
  /** Creates the table of the fences, if there is none; also from several processes at once. */
  readonly createTable: string;
  /**
   * Moves the fence of a name forward. `$1` is the name, such as the key of the lock, and `$2` the
   * fence of the lease. Affects one row if the writes of this lease are accepted, and none if a
   * later holder has been there: then roll back.
   */
  readonly advance: string;
}

/**
 * SQL for a table with one fence for each name. Run `advance` in the transaction of your writes,
 * before them: the row stays locked until its end, so no earlier holder can write between the check
 * and the writes.
 */
export const postgres: FenceSql = {
  // `IF NOT EXISTS` fails if another transaction creates the table at the same time
  createTable: `DO $$ BEGIN
  CREATE TABLE IF NOT EXISTS holdfast_fences (
    name text PRIMARY KEY,
    fence bigint NOT NULL
  );
EXCEPTION WHEN unique_violation OR duplicate_table THEN NULL;
END $$`,
  advance: `INSERT INTO holdfast_fences AS current (name, fence) VALUES ($1, $2)
ON CONFLICT (name) DO UPDATE SET fence = excluded.fence
WHERE current.fence <= excluded.fence`,
};

/** See {@link mysql}. */
export interface MysqlFenceSql {
  /** Creates the table of the fences, if there is none. */
  readonly createTable: string;
  /** Moves the fence of a name forward; never back. The two `?` are the name and the fence. */
  readonly advance: string;
  /**
   * Returns one row if the writes of this lease are accepted, and none if a later holder has been
   * there: then roll back. The two `?` are as for `advance`.
   */
  readonly accepted: string;
}

/**
 * As {@link postgres}, for InnoDB tables of MySQL and MariaDB. Run `advance` and then `accepted` in
 * the transaction of your writes, before them. `advance`'s number of affected rows says nothing: it
 * depends on a flag of the connection.
 */
export const mysql: MysqlFenceSql = {
  // bytes: a text would be compared without regard to case
  createTable: `CREATE TABLE IF NOT EXISTS holdfast_fences (
  name VARBINARY(1024) PRIMARY KEY,
  fence BIGINT NOT NULL
) ENGINE = InnoDB`,
  advance: `INSERT INTO holdfast_fences (name, fence) VALUES (?, ?)
ON DUPLICATE KEY UPDATE fence = GREATEST(fence, VALUES(fence))`,
  // FOR UPDATE reads the present row, not that of the transaction's beginning
  accepted: 'SELECT 1 FROM holdfast_fences WHERE name = ? AND fence = ? FOR UPDATE',
};

/**
 * A statement as a fragment of a client that writes SQL as a tagged template: `sql` of Drizzle,
 * Kysely or postgres.js, or `Prisma.sql`. For Knex:
 * `(texts, ...values) => trx.raw(texts.join('?'), values)`.
 * @param statement a statement of this entry, or one with `$1`, `$2` … in this order, or with `?`
 * @throws HOLDFAST_BAD_OPTION if the number of values is not that of the places
 */
export function fragment<Result>(
  tag: (texts: TemplateStringsArray, ...values: never[]) => Result,
  statement: string,
  values: readonly (string | number)[],
): Result {
  const texts = statement.split(/\$\d+|\?/);
  if (values.length !== texts.length - 1) {
    throw badOption('values', `an array with ${texts.length - 1} values`, values);
  }
  return tag(Object.assign([...texts], { raw: texts }), ...(values as never[]));
}

/** The metadata of a stored object. */
export interface StoredObject {
  /** As the store gives it; needed. */
  readonly etag: string | undefined;
  /** The fence as `put` wrote it; `undefined` if the object has none, which is less than any. */
  readonly fence: string | number | undefined;
}

/** The value of `If-Match` or `If-None-Match`. */
export interface PutCondition {
  readonly ifMatch?: string;
  readonly ifNoneMatch?: '*';
}

/** One object of a store with conditional writes. */
export interface FencedObject {
  /** Reads the metadata; `undefined` without an object. */
  readonly head: () => Promise<StoredObject | undefined>;
  /**
   * Writes the object, with the fence in its metadata, if the condition is met. In a store whose
   * ETag depends only on the body, as that of S3, write the fence into the body too. False if the
   * store answers that the condition is not met: status 412, 409 (several conditional writes at
   * once), or 404 to `If-Match` (the object was removed).
   */
  readonly put: (condition: PutCondition, fence: string) => Promise<boolean>;
}

/** After so many faster writers, the store's answers cannot be right. */
const PUTS = 100;

/**
 * Writes an object to an object store; false if a later holder has written. If another writer is
 * faster, it reads the metadata again and repeats. Rejects as `head` and `put` do; then the object
 * may have been written, and the call may be repeated.
 * @param fence of the lease under which the object was computed
 * @throws HOLDFAST_BAD_OPTION if the given or the stored fence is not valid, or `head` reads an
 *   object without an ETag: nothing is written then
 */
export async function fencedPut(object: FencedObject, fence: number): Promise<boolean> {
  checkFence(fence);
  for (const name of ['head', 'put'] as const) {
    if (typeof object?.[name] !== 'function') {
      throw badOption('object', 'an object with the functions head and put', object);
    }
  }
  for (let count = 0; count < PUTS; count++) {
    const stored = await object.head();
    if (seen(stored?.fence) > fence) return false;
    // a client omits an empty header
    if (stored !== undefined && !isText(stored.etag)) {
      throw badOption('etag', 'the ETag of the object, which head() reads', stored.etag);
    }
    const { etag = '' } = stored ?? {};
    const condition: PutCondition = stored ? { ifMatch: etag } : { ifNoneMatch: '*' };
    if (await object.put(condition, `${fence}`)) return true;
  }
  const message = `Holdfast: the store refused ${PUTS} conditional writes, the last one too`;
  throw new HoldfastError('HOLDFAST_REFUSED', message);
}

function seen(stored: unknown): number {
  if (stored === undefined) return 0;
  const isWhole = typeof stored === 'string' && /^\d+$/.test(stored);
  const fence = isWhole ? Number(stored) : stored;
  checkFence(fence as number, stored);
  return fence as number;
}

const isText = (value: unknown): boolean => typeof value === 'string' && value !== '';

function checkFence(fence: number, given: unknown = fence): void {
  if (!Number.isSafeInteger(fence) || fence < 0) throw badOption('fence', 'a fence', given);
}

/** The reply has a proof, see `proven-port.ts`. */
const FENCED_SET = `local seen = tonumber(redis.call('HGET', KEYS[1], 'fence') or '0')
if tonumber(ARGV[2]) < seen then return '0 ' .. ARGV[3] end
redis.call('HSET', KEYS[1], 'value', ARGV[1], 'fence', ARGV[2])
return '1 ' .. ARGV[3]`;

/**
 * Writes a value to Redis or Valkey; false if a later holder has written. The key is a hash with
 * the fields `value` and `fence`. A value that is written without this function is not protected.
 *
 * Rejects with HOLDFAST_UNCERTAIN if the client fails: the value may have been written, and the
 * call may be repeated. Rejects with HOLDFAST_REFUSED if the server answers with an error.
 * @param client of ioredis or node-redis
 * @param key of the value, not of the lock
 * @param fence of the lease under which the value was computed
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
  checkFence(fence);
  const port = portOfOption(client, 'client');
  try {
    const proof = randomBytes(6).toString('hex');
    const reply = await port.eval(FENCED_SET, [key], [value, `${fence}`, proof]);
    if (reply !== `1 ${proof}` && reply !== `0 ${proof}`) {
      throw new Error('the client is out of step: this is the reply to another command');
    }
    return reply === `1 ${proof}`;
  } catch (cause) {
    const text = cause instanceof Error ? cause.message : String(cause);
    const code = port.isReply(cause) ? 'HOLDFAST_REFUSED' : 'HOLDFAST_UNCERTAIN';
    throw new HoldfastError(code, `Holdfast: the fenced write failed: ${text}`, { key, cause });
  }
}
