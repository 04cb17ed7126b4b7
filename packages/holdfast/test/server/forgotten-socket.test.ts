/**
 * A socket that node-redis forgets. If a client is destroyed while its socket reconnects, it does
 * not close that socket: the socket sends the handshake and stays connected until the process
 * exits. The Sentinel client destroys its clients of the former master like this. These tests fail
 * when a version of node-redis fixes it: then the tests of fail-overs can count such connections.
 */
import { type Server, type ServerName, startServer, until } from 'holdfast-testkit';
import { createClient as createClient6 } from 'redis';
import { createClient as createClient5 } from 'redis-5';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { clientList } from '../support/client-list.js';

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

describe.each<ServerName>(['redis', 'valkey'])('%s', (name) => {
  let server: Server;
  beforeAll(async () => {
    server = await startServer({ server: name });
  });
  afterAll(() => server.stop());

  describe.each(['redis-5', 'redis-6'] as const)('%s', (version) => {
    /** Destroys a client while its socket reconnects. Resolves when the socket is connected. */
    async function endEarly(limits: { socketTimeout?: number }): Promise<void> {
      const { host, port } = server;
      const client = CLIENTS[version]({ host, port, reconnectStrategy: 1, ...limits });
      client.on('error', () => undefined);
      await client.connect();
      client.once('reconnecting', () => queueMicrotask(() => client.destroy()));
      await server.command('CLIENT', 'KILL', 'TYPE', 'normal');
      await until(() => !client.isOpen);
      await until(async () => (await clientList(server)).some((line) => HANDSHAKE.test(line)));
    }

    it('forgets the socket of a client that is destroyed while it reconnects', async () => {
      await endEarly({});
      await until(async () => / idle=[1-9]/.test((await clientList(server)).join()));
      await server.command('CLIENT', 'KILL', 'TYPE', 'normal');
    });

    it('leaves no such socket open for longer than socketTimeout', async () => {
      await endEarly({ socketTimeout: 200 });
      await until(async () => (await clientList(server)).length === 0);
    });
  });
});
