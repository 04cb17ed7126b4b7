/** Leaders that are killed or told to end, and replies that are lost. */
import { type Server, spawnWorker, startProxy, until, type Worker } from 'holdfast-testkit';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Holdfast } from '../../src/index.js';
import {
  type ClientName,
  Made,
  openClient,
  PROTOCOLS,
  SERVERS,
  serverOf,
  stopServersAfterwards,
} from '../support/backends.js';
import { freshKey, queued, unused } from '../suites/helpers.js';

const CLIENTS: readonly ClientName[] = ['ioredis-6', 'node-redis-6'];

describe.each(SERVERS)('on %s', (name) => {
  let server: Server;
  beforeAll(async () => {
    server = await serverOf(name);
  });

  describe.each(CLIENTS)('with %s', (client) => {
    const made = new Made();
    const make = (): Promise<Holdfast> => {
      const { host, port } = server;
      return made.on(openClient(client, { host, port }), { ttl: 60_000 });
    };
    const candidate = (key: string): Worker => {
      const [protocol] = PROTOCOLS[client];
      const setting = JSON.stringify({ client, port: server.port, protocol, key });
      const program = new URL('../children/leads.mjs', import.meta.url);
      return spawnWorker(program, { args: [setting] });
    };
    afterEach(() => made.close());

    it('a killed leader has a successor within its ttl', async () => {
      const holdfast = await make();
      const key = freshKey();
      await using first = candidate(key);
      const { term } = await first.next('leads');
      await using second = candidate(key);
      await second.next('candidate');
      await queued(holdfast, key, 1);
      const [holder] = (await holdfast.inspect(key))?.holders ?? [];
      first.kill('SIGKILL');
      const next = await second.next('leads');
      expect(next['term']).toBeGreaterThan(term as number);
      // terms are server times: the second term began after the first lease had expired
      const between = ((next['term'] as number) - (term as number)) / 1000;
      expect(holder?.fence).toBe(term);
      expect(between).toBeGreaterThan(holder?.remaining as number);
      expect(second.messages.map(({ type }) => type)).toEqual(['candidate', 'leads']);
    });

    it('a leader that is told to end hands over and exits', async () => {
      const holdfast = await make();
      const key = freshKey();
      await using first = candidate(key);
      await first.next('leads');
      const next = holdfast.election(key).campaign();
      await queued(holdfast, key, 1);
      first.kill('SIGTERM');
      expect((await next).leads).toBe(true);
      expect(await first.exited).toEqual({ code: null, signal: 'SIGTERM' });
      const said = first.messages.map(({ type }) => type);
      expect(said.slice(0, 3)).toEqual(['candidate', 'leads', 'over']);
    });

    it('a candidate that loses its election reply leads, or leaves no lease', async () => {
      await using proxy = await startProxy(server);
      const [near, far] = [
        await make(),
        await made.on(openClient(client, { host: proxy.host, port: proxy.port }), { ttl: 5000 }),
      ];
      const key = freshKey();
      await (await far.election(freshKey()).campaign()).resign();
      const lost = proxy.dropReply((words) => words.some((word) => word.includes(key)));
      const leadership = await far.election(key).campaign();
      await lost.applied();
      expect((await near.election(key).leader())?.id).toBe(leadership.id);
      proxy.dropReply((words) => words.some((word) => word.includes(key)));
      await leadership.resign().catch(() => undefined);
      await unused(near, key);
      await until(async () => (await near.election(key).leader()) === null);
    });
  });
});

stopServersAfterwards();
