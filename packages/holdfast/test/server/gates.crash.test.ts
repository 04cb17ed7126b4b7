/** Parties that die or are stopped, and replies and messages that are lost. */
import { type Server, spawnWorker, startProxy, until, type Worker } from 'holdfast-testkit';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Barrier, Holdfast, HoldfastOptions } from '../../src/index.js';
import {
  type ClientName,
  Made,
  openClient,
  PROTOCOLS,
  SERVERS,
  serverOf,
  stopServersAfterwards,
} from '../support/backends.js';
import { waiting } from '../suites/gates-helpers.js';
import { freshKey, later } from '../suites/helpers.js';

const CLIENTS: readonly ClientName[] = ['ioredis-6', 'node-redis-6'];
const SLOW = { ttl: 60_000, claimWindow: 60_000, retention: 600_000 };

describe.each(SERVERS)('on %s', (name) => {
  let server: Server;
  beforeAll(async () => {
    server = await serverOf(name);
  });

  describe.each(CLIENTS)('with %s', (client) => {
    const made = new Made();
    const make = (options: HoldfastOptions, port = server.port): Promise<Holdfast> =>
      made.on(openClient(client, { host: server.host, port }), options);
    const party = (key: string, ttl = 1500): Worker => {
      const [protocol] = PROTOCOLS[client];
      const setting = JSON.stringify({ client, port: server.port, protocol, key, ttl });
      const program = new URL('../children/meets.mjs', import.meta.url);
      return spawnWorker(program, { args: [setting] });
    };
    const barrierOf = async (key: string): Promise<Barrier> => {
      const holdfast = await make({ ttl: 60_000, claimWindow: 100 });
      return holdfast.barrier(key, { parties: 2 });
    };
    afterEach(() => made.close());

    it('a party that is killed while it waits breaks the barrier within its ttl', async () => {
      const key = freshKey();
      const barrier = await barrierOf(key);
      await using worker = party(key);
      await waiting(barrier, 1);
      worker.kill('SIGKILL');
      await worker.exited;
      // the next poll finds that the arrival has expired
      await until(async () => (await barrier.waiting()) === 0, { what: 'it broke' });
      const met = [later(barrier.await()), later(barrier.await())];
      // either of them may be told first that the earlier generation has ended
      const indexes = new Set((await Promise.all(met)).map(({ index }) => index));
      expect(indexes).toEqual(new Set([0, 1]));
    });

    it('a stopped party breaks the barrier, and learns of it when it continues', async () => {
      const key = freshKey();
      const barrier = await barrierOf(key);
      await using worker = party(key);
      await waiting(barrier, 1);
      worker.kill('SIGSTOP');
      await until(async () => (await barrier.waiting()) === 0, { what: 'it broke' });
      worker.kill('SIGCONT');
      expect(await worker.next('failed')).toMatchObject({ code: 'HOLDFAST_BROKEN' });
    });

    it('a stop shorter than the ttl has no effect', async () => {
      const key = freshKey();
      const barrier = await barrierOf(key);
      await using worker = party(key, 60_000);
      await waiting(barrier, 1);
      worker.kill('SIGSTOP');
      await barrier.await();
      worker.kill('SIGCONT');
      expect(await worker.next('passed')).toMatchObject({ index: 0 });
    });

    it('a count with a lost reply counts once', async () => {
      await using proxy = await startProxy(server);
      const holdfast = await make(SLOW, proxy.port);
      const key = freshKey();
      const latch = holdfast.latch(key, { count: 3 });
      await latch.await({ wait: 0 }).catch(() => undefined);
      const lost = proxy.dropReply((words) => words.includes('1') && words.includes(key));
      await latch.countDown();
      await lost.applied();
      expect(await latch.count()).toBe(2);
      // the test would see one count too many
      await latch.countDown();
      expect(await latch.count()).toBe(1);
    });

    it('a waiter that misses the message of the opening finds out by polling', async () => {
      await using proxy = await startProxy(server);
      const holdfast = await make({ ttl: 60_000, claimWindow: 50 }, proxy.port);
      const far = await make(SLOW);
      const key = freshKey();
      const lost = proxy.dropPush((words) => words.some((word) => word.includes(key)));
      const latch = holdfast.latch(key, { count: 1 });
      const waits = latch.await();
      await until(async () => (await subscribers(server, key)) > 0, { what: 'it waits' });
      await far.latch(key, { count: 1 }).countDown();
      await waits;
      expect(lost.hits).toBe(1);
    });
  });
});

/** The number of channels that a gate would notify. */
async function subscribers(server: Server, key: string): Promise<number> {
  const fields = (await server.command('HKEYS', `holdfast:{${key}}:g`)) as string[];
  return fields.filter((field) => field.startsWith('c:')).length;
}

stopServersAfterwards();
