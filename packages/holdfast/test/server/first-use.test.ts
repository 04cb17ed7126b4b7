/** A server that does not know the scripts: the text of each goes over the wire once. */
import { type Server, type ServerName, startServer } from 'holdfast-testkit';
import { Redis } from 'ioredis';
import { createClient } from 'redis';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Holdfast, type Lease } from '../../src/index.js';
import { scripts } from '../../src/store/redis/generated/scripts.js';

/** As many as fit into one batch. */
const MANY = 500;

interface Connected {
  readonly client: { ping(): Promise<unknown> };
  close(): unknown;
}

const CLIENTS: Record<string, (server: Server) => Promise<Connected>> = {
  ioredis: async ({ host, port }) => {
    const client = new Redis(port, host);
    return { client, close: () => client.disconnect() };
  },
  'node-redis': async ({ host, port }) => {
    const client = createClient({ socket: { host, port } });
    await client.connect();
    return { client, close: () => client.close() };
  },
};
const cases = (['redis', 'valkey'] as const).flatMap((server) =>
  Object.keys(CLIENTS).map((client): [ServerName, string] => [server, client]),
);

/** Nothing is renewed or repeated meanwhile, and no lease lasts so long that it needs a channel. */
const UNDISTURBED = { ttl: 60_000, requestTimeout: 20_000, claimWindow: 20_000 };

describe.each(cases)('on %s with %s', (name, clientName) => {
  let server: Server;
  let connected: Connected;
  let holdfast: Holdfast;
  let runs = 0;

  beforeAll(async () => {
    server = await startServer({ server: name });
    connected = await (CLIENTS[clientName] as (typeof CLIENTS)[string])(server);
  });
  afterAll(async () => {
    await connected.close();
    await server.stop();
  });
  // an instance for each test: on a busy machine, an old one may repeat a release meanwhile
  beforeEach(async () => {
    holdfast = new Holdfast(connected.client as never, UNDISTURBED);
    // a client that still connects is not tested
    await connected.client.ping();
    // the test for one server sends texts of its own; a release of these leases might be repeated
    const keys = ['a', 'b'].map((key) => `${key} ${runs++}`);
    await Promise.all(keys.map((key) => holdfast.mutex(key).acquire()));
    // a reply to a later command: all commands of the test are executed
    await connected.client.ping();
    await server.command('SCRIPT', 'FLUSH');
    await server.command('CONFIG', 'RESETSTAT');
  });
  afterEach(() => holdfast.close({ grace: 0 }));

  /** The calls of EVAL since the statistics were reset. */
  const texts = async (): Promise<number> => {
    const stats = await server.commandstats();
    return stats.get('eval')?.calls ?? 0;
  };

  function acquireMany(): Promise<Lease[]> {
    const run = runs++;
    const keys = Array.from({ length: MANY }, (_, at) => `first ${run} ${at}`);
    return Promise.all(keys.map((key) => holdfast.mutex(key).acquire()));
  }

  it('500 acquisitions at once send the script once, and their releases too', async () => {
    const leases = await acquireMany();
    expect(await texts()).toBe(1);
    await Promise.all(leases.map((lease) => lease.release()));
    expect(await texts()).toBe(2);
  });

  it('after SCRIPT FLUSH they send it once more', async () => {
    await acquireMany();
    await server.command('SCRIPT', 'FLUSH');
    await acquireMany();
    expect(await texts()).toBe(2);
  });

  it('the count sees each text: without the loader there are as many as calls', async () => {
    const source = scripts.inspect.text;
    const keys = ['a', 'b', 'c'];
    await Promise.all(keys.map((key) => server.command('EVAL', source, '3', key, 'q', 'e', '1')));
    expect(await texts()).toBe(3);
  });
});

describe.each<ServerName>(['redis', 'valkey'])('on %s', (name) => {
  it('after a restart of the server, 500 acquisitions send the script once', async () => {
    const server = await startServer({ server: name });
    const redis = new Redis(server.port, server.host, { retryStrategy: () => 20 });
    redis.on('error', () => undefined);
    const holdfast = new Holdfast(redis, UNDISTURBED);
    try {
      await holdfast.mutex('before').acquire();
      await server.restart();
      await redis.ping();
      const keys = Array.from({ length: MANY }, (_, at) => `after ${at}`);
      await Promise.all(keys.map((key) => holdfast.mutex(key).acquire()));
      // and the new connection is tested for one server, with two texts
      expect((await server.commandstats()).get('eval')?.calls).toBe(1 + 2);
    } finally {
      await holdfast.close({ grace: 0 });
      redis.disconnect();
      await server.stop();
    }
  });
});
