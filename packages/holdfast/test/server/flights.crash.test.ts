/** Flights with a computing process that is killed or does not receive the server's replies. */
import { paced, type Server, spawnWorker, startProxy } from 'holdfast-testkit';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Holdfast, HoldfastOptions } from '../../src/index.js';
import {
  type ClientName,
  Made,
  openClient,
  PROTOCOLS,
  SERVERS,
  serverOf,
  stopServersAfterwards,
} from '../support/backends.js';
import { freshKey, queued, turn, unused } from '../suites/helpers.js';

const CLIENTS: readonly ClientName[] = ['ioredis-6', 'node-redis-6'];

describe.each(SERVERS)('on %s', (name) => {
  let server: Server;
  beforeAll(async () => {
    server = await serverOf(name);
  });

  describe.each(CLIENTS)('with %s', (client) => {
    const made = new Made();
    const make = (options: HoldfastOptions = {}, where: object = server): Promise<Holdfast> => {
      const { host, port } = where as Server;
      return made.on(openClient(client, { host, port }), options);
    };
    afterEach(() => made.close());

    it('one caller takes over from a killed process, and the others wait for it', async () => {
      const key = freshKey();
      const [protocol] = PROTOCOLS[client];
      const setting = JSON.stringify({ client, port: server.port, protocol, key, ttl: paced(500) });
      const program = new URL('../children/computes.mjs', import.meta.url);
      await using worker = spawnWorker(program, { args: [setting] });
      const { fence } = await worker.next('computes');
      const instances = await Promise.all([make(), make(), make()]);
      let value: number | undefined;
      let [computations, computing, most] = [0, 0, 0];
      const work = {
        fresh: () => value,
        compute: async (lease: { fence: number }) => {
          computations += 1;
          computing += 1;
          most = Math.max(most, computing);
          await turn();
          computing -= 1;
          value = lease.fence;
          return value;
        },
      };
      const all = instances.flatMap((one) =>
        Array.from({ length: 20 }, () => one.singleFlight(key).run(work)),
      );
      await queued(instances[0], key, 3);
      worker.kill('SIGKILL');
      const values = new Set(await Promise.all(all));
      expect([computations, most]).toEqual([1, 1]);
      expect([...values]).toEqual([value]);
      expect(value).toBeGreaterThan(fence as number);
    });

    it('computes once when a reply is lost', async () => {
      await using proxy = await startProxy(server);
      const far = await make({ requestTimeout: paced(200), unreachableAfter: paced(5000) }, proxy);
      const near = await make({ claimWindow: 200, retention: 60_000 });
      await far.singleFlight(freshKey()).do(() => 1);
      for (const lost of [1, 2, 3]) {
        const key = freshKey();
        let seen = 0;
        proxy.dropReply((words) => {
          if (words.some((word) => word.includes(key))) seen += 1;
          return seen === lost;
        });
        let value: number | undefined;
        let computations = 0;
        let finish = (): void => undefined;
        const finished = new Promise<void>((resolve) => {
          finish = resolve;
        });
        const work = {
          fresh: () => value,
          compute: async () => {
            computations += 1;
            await finished;
            value = 7;
            return value;
          },
        };
        const waiting = [near, far, far].map(async (one) => {
          await turn();
          // a call with a single attempt cannot know whether the server received it
          return one
            .singleFlight(key)
            .run(work)
            .catch(() => one.singleFlight(key).run(work));
        });
        finish();
        expect(await Promise.all(waiting)).toEqual([7, 7, 7]);
        expect([lost, computations]).toEqual([lost, 1]);
        await unused(near, key);
      }
    });
  });
});

stopServersAfterwards();
