/** Scheduled work in a process that ends, is killed, or does not receive the server's replies. */
import { paced, type Server, spawnWorker, startProxy, type Worker } from 'holdfast-testkit';
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
import { freshKey } from '../suites/helpers.js';

const CLIENTS: readonly ClientName[] = ['ioredis-6', 'node-redis-6'];
const LONG = 60_000;

describe.each(SERVERS)('on %s', (name) => {
  let server: Server;
  beforeAll(async () => {
    server = await serverOf(name);
  });

  describe.each(CLIENTS)('with %s', (client) => {
    const made = new Made();
    const make = (): Promise<Holdfast> => {
      const { host, port } = server;
      return made.on(openClient(client, { host, port }), { ttl: 5000 });
    };
    const tick = (key: string, ...args: string[]): Worker => {
      const [protocol] = PROTOCOLS[client];
      const setting = JSON.stringify({ client, port: server.port, protocol, key, ttl: paced(400) });
      const program = new URL('../children/ticks.mjs', import.meta.url);
      return spawnWorker(program, { args: [setting, ...args] });
    };
    /** Fires as a machine that the store does not know yet. */
    const fire = async (key: string, slot?: string): Promise<boolean> => {
      const schedule = (await make()).schedule(key, { atLeast: 0 });
      const options = slot === undefined ? {} : { slot };
      return (await schedule.runOnce(() => 1, options)).ran;
    };
    afterEach(() => made.close());

    it('keeps its lock after its process has ended, until the lease expires', async () => {
      const [key, atLeast] = [freshKey(), paced(700)];
      await using worker = tick(key, 'ends', '', `${atLeast}`);
      const { fence } = await worker.next('runs');
      expect(await worker.exited).toEqual({ code: 0, signal: null });
      const holdfast = await make();
      const next = await holdfast.schedule(key, { atLeast: 0 }).runOnce(() => 1, { wait: LONG });
      if (!next.ran) throw new Error('it was skipped');
      const apart = (next.fence - (fence as number)) / 1000;
      expect(apart).toBeGreaterThanOrEqual(atLeast);
    });

    it('keeps its lock when its process is killed, and keeps its slot for longer', async () => {
      const key = freshKey();
      await using worker = tick(key, 'hangs', 'a', String(LONG));
      await worker.next('runs');
      worker.kill('SIGKILL');
      await worker.exited;
      expect(await fire(key)).toBe(false);
      expect(await fire(key, 'a')).toBe(false);
      const [holder] = (await (await make()).inspect(key))?.holders ?? [];
      expect(holder?.pid).toBe(worker.pid);
      expect((holder?.remaining ?? 0) + (holder?.heldFor ?? 0)).toBeGreaterThanOrEqual(LONG);
      // the slot is still recorded when the lock is free again
      await (await make()).forceRelease(key);
      expect(await fire(key, 'a')).toBe(false);
      expect(await fire(key, 'b')).toBe(true);
    });

    it('runs a slot once when a reply is lost', async () => {
      await using proxy = await startProxy(server);
      const { host, port } = proxy;
      const far = await made.on(openClient(client, { host, port }), {
        ttl: paced(1000),
        requestTimeout: paced(200),
      });
      const learn = { atLeast: 2000 };
      await far.schedule(freshKey(), learn).runOnce(() => 1, { slot: 'scripts' });
      // the peek, the lock, the marker, the extension
      for (const lost of [1, 2, 3, 4]) {
        const key = freshKey();
        let seen = 0;
        const matches = (words: string[]): boolean => {
          if (words.some((word) => word.includes(key))) seen += 1;
          return seen === lost;
        };
        const rule = proxy.dropReply(matches);
        let runs = 0;
        const work = (): void => {
          runs += 1;
        };
        const slot = 'a';
        await far
          .schedule(key, learn)
          .runOnce(work, { slot })
          .catch(() => undefined);
        expect([lost, rule.hits]).toEqual([lost, 1]);
        const near = (await make()).schedule(key, learn);
        const outcome = await near.runOnce(work, { slot, wait: LONG });
        if (!outcome.ran) expect(outcome.reason).toBe('slot-taken');
        expect([lost, runs]).toEqual([lost, 1]);
      }
    });
  });
});

stopServersAfterwards();
