/** Waiters of a quorum of real servers whose processes are gone. */
import { paced, type Proxy, type Server, startProxy, until } from 'holdfast-testkit';
import { afterEach, it } from 'vitest';
import type { Holdfast } from '../../src/index.js';
import { Made, membersOf, openClients, stopServersAfterwards } from '../support/backends.js';
import { freshKey, later, queued } from '../suites/helpers.js';

/** A dead waiter that holds the lease for a window exceeds the time limit of the test. */
const PATIENT = { ttl: 600_000, claimWindow: 60_000, retention: 600_000 };
const LIMIT = paced(2000);

const made = new Made();
afterEach(() => made.close());
stopServersAfterwards();

it.each([3, 5])('cost no claim window (servers: %i)', { timeout: 55_000 }, async (count) => {
  const servers = await membersOf(count);
  const proxies: Proxy[] = await Promise.all(servers.map((server) => startProxy(server)));
  try {
    const open = (where: readonly (Server | Proxy)[], shift: number): Promise<Holdfast> => {
      const options = { ...PATIENT, requestTimeout: LIMIT };
      const settings = { durable: true, serverTimeout: LIMIT };
      return made.across(openClients(where, shift), options, settings);
    };
    const key = freshKey();
    const holder = await open(servers, 0);
    const lease = await holder.mutex(key).acquire();
    for (let dead = 1; dead <= 6; dead++) {
      const process = await open(proxies, dead);
      await process.warmUp();
      void later(process.mutex(key).acquire());
      await queued(holder, key, dead);
    }
    const living = (await open(servers, 1)).mutex(key).acquire();
    await queued(holder, key, 7);
    for (const proxy of proxies) {
      proxy.refuse();
      proxy.cut();
    }
    const channels = async (): Promise<number[]> =>
      Promise.all(
        servers.map(async (server) => {
          const names = await server.command('PUBSUB', 'CHANNELS', 'holdfast:wake:*');
          return (names as string[]).length;
        }),
      );
    await until(async () => (await channels()).every((open) => open <= 2));
    await lease.release();
    await (await living).release();
  } finally {
    await Promise.all(proxies.map((proxy) => proxy.close()));
  }
});
