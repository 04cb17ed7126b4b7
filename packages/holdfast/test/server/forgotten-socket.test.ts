/**
 * A socket that node-redis forgets. If a client is ended while it connects again, its socket
 * connects all the same, sends the handshake and stays open for the life of the process. The
 * Sentinel client ends its clients of the former master like this. These tests fail when a version
 * of node-redis mends it: then the tests of fail-overs need not leave such connections out.
 */
import { type Server, type ServerName, startServer, until } from 'holdfast-testkit';
import { createClient as createClient6 } from 'redis';
import { createClient as createClient5 } from 'redis-5';
import { afterAll, beforeAll, describe, it } from 'vitest';

interface Socket {
  readonly host: string;
  readonly port: number;
  readonly reconnectStrategy: number;
  readonly socketTimeout?: number;
}

const CLIENTS = {
  'redis-5': (socket: Socket) => createClient5({ socket }),
  'redis-6': (socket: Socket) => createClient6({ socket }),
};

/** The last command of a handshake is CLIENT SETINFO, which Redis 7.0 does not know. */
const HANDSHAKE = / cmd=(NULL|client\|setinfo) /;

/** The connections of a server without that of the test. */
async function connections(server: Server): Promise<string[]> {
  const lines = String(await server.command('CLIENT', 'LIST'))
    .trim()
    .split('\n');
  return lines.filter((line) => !line.includes(' cmd=client|list '));
}

describe.each<ServerName>(['redis', 'valkey'])('%s', (name) => {
  let server: Server;
  beforeAll(async () => {
    server = await startServer({ server: name });
  });
  afterAll(() => server.stop());

  describe.each(['redis-5', 'redis-6'] as const)('%s', (version) => {
    /** Ends a client while it connects again. Resolves when the server has its connection. */
    async function endEarly(limits: { socketTimeout?: number }): Promise<void> {
      const { host, port } = server;
      const client = CLIENTS[version]({ host, port, reconnectStrategy: 1, ...limits });
      client.on('error', () => undefined);
      await client.connect();
      client.once('reconnecting', () => queueMicrotask(() => client.destroy()));
      await server.command('CLIENT', 'KILL', 'TYPE', 'normal');
      await until(() => !client.isOpen);
      await until(async () => (await connections(server)).some((line) => HANDSHAKE.test(line)));
    }

    it('forgets the socket of a client that is ended while it connects', async () => {
      await endEarly({});
      await until(async () => (await connections(server)).some((line) => / idle=[1-9]/.test(line)));
      await server.command('CLIENT', 'KILL', 'TYPE', 'normal');
    });

    it('leaves no such socket open for longer than socketTimeout', async () => {
      await endEarly({ socketTimeout: 200 });
      await until(async () => (await connections(server)).length === 0);
    });
  });
});
