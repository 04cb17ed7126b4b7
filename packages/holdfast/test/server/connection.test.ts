/** A client's connection options apply to commands and to the wake channel. */
import { type Server, startServer } from 'holdfast-testkit';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Holdfast, HoldfastOptions } from '../../src/index.js';
import { CLIENTS, Made, openClient, SERVERS } from '../support/backends.js';
import { freshKey, queued } from '../suites/helpers.js';
import type { Where } from './clients.support.js';

/** No waiter polls within a test, so each hand-off arrives by push. */
const NO_POLL: HoldfastOptions = { ttl: 60_000, claimWindow: 60_000, retention: 600_000 };

const PASSWORD = 'p@ss: "word"/é';

/** `locker` has rights to the library's keys and channels only. */
const USERS = [`locker on >s3cret ~holdfast:* resetchannels &holdfast:* +@all`];

/** The two instances exclude each other, hand over, and see each other's leases. */
async function shared(one: Holdfast, other: Holdfast): Promise<void> {
  const key = freshKey();
  const lease = await one.mutex(key).acquire();
  expect(await other.mutex(key).tryAcquire()).toBeNull();
  const waiting = other.mutex(key).acquire();
  await queued(one, key, 1);
  await lease.release();
  const next = await waiting;
  expect(next.fence).toBeGreaterThan(lease.fence);
  const seen: string[] = [];
  for await (const info of one.list()) seen.push(info.key);
  expect(seen).toContain(key);
  await next.release();
}

/** The two instances share no locks. */
async function separate(one: Holdfast, other: Holdfast): Promise<void> {
  const key = freshKey();
  const leases = [await one.mutex(key).acquire(), await other.mutex(key).tryAcquire()];
  expect(leases.map((lease) => lease?.held)).toEqual([true, true]);
  expect((await one.forceRelease(key)).ended).toBe(1);
  expect((await other.inspect(key))?.holders[0]?.id).toBe(leases[1]?.id);
  for await (const info of one.list()) expect(info.key).not.toBe(key);
}

describe.each(SERVERS)('%s', (name) => {
  let server: Server;
  let closed: Server;
  const made = new Made();

  beforeAll(async () => {
    [server, closed] = await Promise.all([
      startServer({ server: name, tls: true, users: USERS }),
      startServer({ server: name, password: PASSWORD }),
    ]);
  });
  afterEach(() => made.close());
  afterAll(() => Promise.all([server?.stop(), closed?.stop()]));

  describe.each(CLIENTS)('%s', (client) => {
    const make = (
      where: Partial<Where> = {},
      options: HoldfastOptions = NO_POLL,
      to: Server = server,
    ): Promise<Holdfast> =>
      made.on(openClient(client, { host: to.host, port: to.port, ...where }), options);

    it('a password', async () => {
      const where = { password: PASSWORD };
      await shared(await make(where, NO_POLL, closed), await make(where, NO_POLL, closed));
    });

    it("a user with rights to the library's keys and channels only", async () => {
      const where = { username: 'locker', password: 's3cret' };
      await shared(await make(where), await make(where));
    });

    it('TLS', async () => {
      const where = { port: server.tlsPort ?? 0, ca: server.ca };
      await shared(await make(where), await make(where));
    });

    it('database numbers', async () => {
      await shared(await make({ db: 5 }), await make({ db: 5 }));
      await separate(await make({ db: 5 }), await make({ db: 6 }));
      await separate(await make(), await make({ db: 6 }));
    });

    it.skipIf(client === 'node-redis-5')('a key prefix of the client', async () => {
      const where = { keyPrefix: 'app[1]*:' };
      await shared(await make(where), await make(where));
      await separate(await make(where), await make({ keyPrefix: 'app1:' }));
      await separate(await make(where), await make());
      const key = freshKey();
      await (await make(where)).mutex(key).acquire();
      expect(await server.command('EXISTS', `app[1]*:holdfast:{${key}}`)).toBe(1);
    });

    it("the library's own key prefix", async () => {
      const options = { ...NO_POLL, prefix: 'mine*:' };
      await shared(await make({}, options), await make({}, options));
      await separate(await make({}, options), await make({}, { ...NO_POLL, prefix: 'mine:' }));
    });
  });
});
