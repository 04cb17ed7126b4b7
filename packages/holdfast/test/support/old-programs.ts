/**
 * Programs that use the published packages of redlock 5 and redis-semaphore, and one that sends the
 * scripts that Redisson publishes.
 */
import { randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import type { Server } from 'holdfast-testkit';
import { Redis as Redis6 } from 'ioredis';
import { Redis } from 'ioredis-5';
import { Mutex } from 'redis-semaphore';
import { redisSemaphore, redisson, redlock } from '../../src/migrate.js';
import type { OldLock, RedisClient } from '../../src/migrate.js';

/** A program that knows only the other library. */
export interface OldProgram {
  /** Waits for the lock; resolves to a function that releases it. */
  acquire(key: string, ttl: number): Promise<() => Promise<unknown>>;
  /** True if it got the lock; it does not wait. */
  tries(key: string, ttl: number): Promise<boolean>;
  close(): void;
}

interface Redlock5 {
  acquire(
    keys: string[],
    ttl: number,
    settings?: { retryCount: number },
  ): Promise<{ release(): Promise<unknown> }>;
}

// the types of redlock cannot be reached by an import of an ES module
const require = createRequire(import.meta.url);
const { default: Redlock } = require('redlock') as {
  default: new (clients: Redis[], settings: object) => Redlock5;
};

export function redlockProgram(servers: readonly Server[]): OldProgram {
  const clients = servers.map(({ host, port }) => quiet(new Redis({ host, port })));
  const library = new Redlock(clients, { retryCount: -1, retryDelay: 15, retryJitter: 10 });
  return {
    acquire: async (key, ttl) => {
      const lock = await library.acquire([key], ttl);
      return () => lock.release();
    },
    tries: async (key, ttl) => {
      const trying = library.acquire([key], ttl, { retryCount: 0 });
      return trying.then(
        () => true,
        () => false,
      );
    },
    close: () => clients.forEach((client) => client.disconnect()),
  };
}

function semaphoreProgram({ host, port }: Server): OldProgram {
  const client = quiet(new Redis6({ host, port }));
  const mutex = (key: string, ttl: number, acquireTimeout: number): Mutex =>
    new Mutex(client, key, { lockTimeout: ttl, acquireTimeout, retryInterval: 15 });
  return {
    acquire: async (key, ttl) => {
      const lock = mutex(key, ttl, 60_000);
      await lock.acquire();
      return () => lock.release();
    },
    tries: async (key, ttl) => {
      const lock = mutex(key, ttl, 1);
      const got = await lock.tryAcquire();
      lock.stopRefresh();
      return got;
    },
    close: () => client.disconnect(),
  };
}

/** `RedissonLock.tryLockInnerAsync` and `unlockInnerAsync`, without the latch of `unlock`. */
const LOCK = `if ((redis.call('exists', KEYS[1]) == 0)
  or (redis.call('hexists', KEYS[1], ARGV[2]) == 1)) then
  redis.call('hincrby', KEYS[1], ARGV[2], 1);
  redis.call('pexpire', KEYS[1], ARGV[1]);
  return nil;
end;
return redis.call('pttl', KEYS[1]);`;
const UNLOCK = `if (redis.call('hexists', KEYS[1], ARGV[3]) == 0) then return nil; end;
local counter = redis.call('hincrby', KEYS[1], ARGV[3], -1);
if (counter > 0) then
  redis.call('pexpire', KEYS[1], ARGV[2]);
  return 0;
else
  redis.call('del', KEYS[1]);
  redis.call('publish', KEYS[2], ARGV[1]);
  return 1;
end;`;

/** It waits on the channel of the lock, as Redisson does, and at most until the lock expires. */
function redissonProgram({ host, port }: Server): OldProgram {
  const client = quiet(new Redis({ host, port }));
  const listener = quiet(new Redis({ host, port }));
  const id = `${randomUUID()}:1`;
  const take = (key: string, ttl: number): Promise<unknown> => client.eval(LOCK, 1, key, ttl, id);
  return {
    acquire: async (key, ttl) => {
      const channel = `redisson_lock__channel:{${key}}`;
      await listener.subscribe(channel);
      for (;;) {
        const left = (await take(key, ttl)) as number | null;
        if (left === null) break;
        await new Promise<void>((resolve) => {
          listener.once('message', () => resolve());
          setTimeout(resolve, left);
        });
      }
      return () => client.eval(UNLOCK, 2, key, channel, '0', ttl, id);
    },
    tries: async (key, ttl) => (await take(key, ttl)) === null,
    close: () => {
      client.disconnect();
      listener.disconnect();
    },
  };
}

/** Another library: its program, and the lock in its format. */
export interface OldLibrary {
  readonly name: string;
  readonly program: (server: Server) => OldProgram;
  readonly lock: (client: RedisClient, key: string) => OldLock;
}

export const OLD_LIBRARIES: readonly OldLibrary[] = [
  { name: 'redlock 5', program: (server) => redlockProgram([server]), lock: redlock },
  { name: 'redis-semaphore', program: semaphoreProgram, lock: redisSemaphore },
  { name: 'Redisson', program: redissonProgram, lock: redisson },
];

/** The tests disconnect while commands are under way. */
function quiet<C extends Redis | Redis6>(client: C): C {
  client.on('error', () => undefined);
  return client;
}
