/** Servers that answer with a refusal: missing rights, no memory, wrong types, replicas. */
import { type Server, startServer, until } from 'holdfast-testkit';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Holdfast, HoldfastOptions } from '../../src/index.js';
import { type ClientName, Made, openClient, SERVERS } from '../support/backends.js';
import { failure, freshKey, later, queued, unused } from '../suites/helpers.js';

/** `mute` may not publish, `deaf` may not subscribe, `idle` may not run scripts. */
const USERS = [
  'mute on >pw ~* &* +@all -publish',
  'deaf on >pw ~* resetchannels +@all',
  'idle on >pw ~* &* +@all -eval -evalsha',
];

const FAMILIES: readonly ClientName[] = ['ioredis-6', 'node-redis-6'];

describe.each(SERVERS)('%s', (name) => {
  let server: Server;
  const made = new Made();

  beforeAll(async () => {
    server = await startServer({ server: name, users: USERS });
  });
  afterEach(async () => {
    await server.command('CONFIG', 'SET', 'maxmemory', '0');
    await made.close();
  });
  afterAll(() => server?.stop());

  describe.each(FAMILIES)('%s', (client) => {
    const make = (
      options: HoldfastOptions = {},
      where: { username?: string; port?: number } = {},
    ): Promise<Holdfast> => {
      const login = where.username === undefined ? {} : { password: 'pw' };
      return made.on(
        openClient(client, { host: server.host, port: server.port, ...where, ...login }),
        options,
      );
    };

    it.each(['mute', 'deaf'])('serves the waiters of the user %s by polling', async (username) => {
      const often = { claimWindow: 100 };
      const [one, other] = [await make(often, { username }), await make(often, { username })];
      const key = freshKey();
      const lease = await one.mutex(key).acquire();
      const fences = [lease.fence];
      const waiting = [one, other, one, other].map((each) =>
        each.mutex(key).run(({ fence }) => {
          fences.push(fence);
        }),
      );
      await queued(one, key, 4, [other]);
      await lease.release();
      await Promise.all(waiting);
      expect(fences).toEqual([...fences].sort((a, b) => a - b));
      expect(new Set(fences).size).toBe(5);
      await unused(one, key);
    });

    it("reports the server's error to a user without the right", async () => {
      const one = await make({}, { username: 'idle' });
      const error = await failure(one.mutex(freshKey()).acquire(), 'HOLDFAST_REFUSED');
      expect(error.message).toMatch(/NOPERM|permission/);
      expect(error.cause).toBeInstanceOf(Error);
    });

    it("reports the server's error for a key of another type", async () => {
      const one = await make();
      const key = freshKey();
      await server.command('SET', `holdfast:{${key}}`, 'not ours');
      for (const asking of [one.mutex(key).acquire(), one.mutex(key).tryAcquire()]) {
        expect((await failure(asking, 'HOLDFAST_REFUSED')).message).toContain('WRONGTYPE');
      }
      await failure(one.inspect(key), 'HOLDFAST_REFUSED');
      await failure(one.forceRelease(key), 'HOLDFAST_REFUSED');
      expect(await server.command('GET', `holdfast:{${key}}`)).toBe('not ours');
    });

    it('a full server refuses new locks, but renews and releases existing ones', async () => {
      const one = await make({ ttl: 900 });
      const other = await make();
      const [key, contended] = [freshKey(), freshKey()];
      const lease = await one.mutex(key).acquire();
      const held = await one.mutex(contended).acquire();
      const waiting = later(other.mutex(contended).acquire());
      await queued(one, contended, 1);
      await server.command('CONFIG', 'SET', 'maxmemory', '1');
      const error = await failure(one.mutex(freshKey()).acquire(), 'HOLDFAST_REFUSED');
      expect(error.message).toContain('OOM');
      // each lease was renewed more than once meanwhile
      await until(async () => ((await other.inspect(key))?.holders[0]?.heldFor ?? 0) > 2000);
      expect([lease.held, held.held]).toEqual([true, true]);
      expect(await held.release()).toBe('freed');
      const next = await waiting;
      expect(next.fence).toBeGreaterThan(held.fence);
      expect(await next.release()).toBe('freed');
      expect(await lease.release()).toBe('freed');
      expect(await other.inspect(key)).toBeNull();
      // their records still exist, so the server need not create any
      expect(await other.mutex(key).tryAcquire()).not.toBeNull();
    });

    it('rejects grants of a replica, and continues when it is a primary again', async () => {
      const args = ['--replicaof', server.host, `${server.port}`];
      await using replica = await startServer({ server: name, args });
      const options = { requestTimeout: 500, unreachableAfter: 30_000 };
      const one = await make(options, { port: replica.port });
      const key = freshKey();
      const error = await failure(one.mutex(key).tryAcquire(), 'HOLDFAST_UNREACHABLE');
      expect(error.message).toContain('READONLY');
      const waiting = one.mutex(key).acquire({ wait: 30_000 });
      await failure(one.mutex(key).acquire({ wait: 100 }), 'HOLDFAST_UNREACHABLE');
      await replica.command('REPLICAOF', 'NO', 'ONE');
      expect((await waiting).held).toBe(true);
      await made.close();
    });
  });
});
