/** A server that is older than Holdfast needs. It is refused by name, at the first request. */
import { type Server, startServer } from 'holdfast-testkit';
import { Redis } from 'ioredis';
import { createClient } from 'redis';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { Holdfast } from '../../src/index.js';

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

const clients = {
  ioredis: async ({ port, host }: Server) => {
    const client = new Redis(port, host, { enableReadyCheck: false });
    ends.push(() => client.disconnect());
    return client;
  },
  'node-redis': async ({ url }: Server) => {
    const client = createClient({ url });
    ends.push(() => client.destroy());
    await client.connect();
    return client;
  },
} as const;

describe.each(['ioredis', 'node-redis'] as const)('with %s', (name) => {
  let old: Server;
  let present: Server;
  beforeAll(async () => {
    [old, present] = await Promise.all([
      startServer({ server: 'redis-6' }),
      startServer({ server: 'redis' }),
    ]);
  }, 300_000);
  afterAll(() => Promise.all([old, present].map((server) => server?.stop())));

  async function on(server: Server): Promise<Holdfast> {
    const holdfast = new Holdfast(await clients[name](server));
    ends.unshift(() => holdfast.close());
    return holdfast;
  }

  /** The part of the message that names the version. */
  const named = (version: string): RegExp =>
    new RegExp(`the version of this server is ${version}, and Holdfast needs Redis 7.0 or newer`);

  it('ready() refuses it, and names its version', async () => {
    const ready = (await on(old)).ready();
    await expect(ready).rejects.toMatchObject({
      code: 'HOLDFAST_REFUSED',
      message: expect.stringMatching(named(old.version)),
    });
    expect(await old.command('DBSIZE')).toBe(0);
    // the same calls are answered by a server that is new enough
    expect((await (await on(present)).ready()).pushes).toBe(true);
  });

  it('each other first call is refused too', async () => {
    const holdfast = await on(old);
    const refused = { code: 'HOLDFAST_REFUSED', message: expect.stringMatching(named('6\\..*')) };
    await expect(holdfast.mutex('k').tryAcquire()).rejects.toMatchObject(refused);
    await expect(holdfast.allOf(['a', 'b']).acquire()).rejects.toMatchObject(refused);
    await expect(holdfast.inspect('k')).rejects.toMatchObject(refused);
    await expect(holdfast.latch('l', { count: 1 }).countDown()).rejects.toMatchObject(refused);
    expect(await old.command('DBSIZE')).toBe(0);
  });

  it('a user without the right to ask for the version is refused too', async () => {
    await old.command('ACL', 'SETUSER', 'default', '-info');
    const holdfast = await on(old);
    await expect(holdfast.ready()).rejects.toMatchObject({
      code: 'HOLDFAST_REFUSED',
      message: expect.stringMatching(named('before 7.0')),
    });
    await old.command('ACL', 'SETUSER', 'default', '+@all');
  });
});
