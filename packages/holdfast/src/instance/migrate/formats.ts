/** The formats of the other libraries, as their released versions read and write them. */
import { checkKey } from '../../base/checks.js';
import type { RedisClient } from '../../store/clients/detect.js';
import type { ClientPort } from '../../store/clients/port.js';
import { portOfOption } from '../client-port.js';
import { badOption } from '../../base/errors.js';
import { type LockFormat, OldLock } from './old-lock.js';

/** `SET key value NX PX ttl`, with the holder's value. */
const TEXT: LockFormat = {
  take: `local held = redis.call('GET', KEYS[1])
if held and held ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1`,
  renew: `if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])`,
  release: `if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])`,
};

/** One field for the holder, whose value counts its holds. */
const HASH: LockFormat = {
  take: `local own = redis.call('HEXISTS', KEYS[1], ARGV[1])
if own == 0 and redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], '1')
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1`,
  renew: `if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])`,
  release: `if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return 0 end
redis.call('DEL', KEYS[1])
redis.call('PUBLISH', ARGV[2], '0')
return 1`,
};

/**
 * The lock of redlock (4 and 5) for a resource. Also for other libraries that set a key with `NX`
 * and `PX`, and delete it if it still has their value.
 * @param clients of the server; or of all servers that redlock uses
 * @param resource the name that the old code gives to `acquire`
 */
export function redlock(clients: RedisClient | readonly RedisClient[], resource: string): OldLock {
  return new OldLock(portsOf(clients), TEXT, checkKey(resource, 'resource'));
}

/**
 * The `Mutex` or `RedlockMutex` of redis-semaphore for a key.
 * @param clients of the server; or those that the `RedlockMutex` uses
 * @param key as the old code gives it to the constructor, without the prefix `mutex:`
 */
export function redisSemaphore(
  clients: RedisClient | readonly RedisClient[],
  key: string,
): OldLock {
  return new OldLock(portsOf(clients), TEXT, `mutex:${checkKey(key)}`);
}

/**
 * The `RLock` of Redisson for a name; also its fair, fenced and spin lock. Not its read-write lock,
 * whose hash has another layout.
 * @param name the name that the old code gives to `getLock`
 */
export function redisson(client: RedisClient, name: string): OldLock {
  checkKey(name, 'name');
  // the channel has the hash slot of the lock
  const channel = `redisson_lock__channel:${name.includes('{') ? name : `{${name}}`}`;
  return new OldLock(portsOf(client), HASH, name, channel);
}

function portsOf(clients: RedisClient | readonly RedisClient[]): ClientPort[] {
  const all = Array.isArray(clients) ? (clients as readonly RedisClient[]) : [clients];
  if (all.length === 0) throw badOption('clients', 'one client or more', clients);
  return all.map((client) => portOfOption(client, 'clients'));
}
