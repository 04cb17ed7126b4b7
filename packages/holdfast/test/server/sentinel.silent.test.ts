/** An ioredis client that asks sentinels for its master, and whose connection dies silently. */
import { type Proxy, startProxy, startReplicated, until } from 'holdfast-testkit';
import { Redis } from 'ioredis';
import { expect, it } from 'vitest';
import { Holdfast } from '../../src/index.js';
import { failure } from '../suites/helpers.js';

it('is ended, and connects again, if a new connection is answered', async () => {
  await using deployment = await startReplicated({ server: 'redis', replicas: 1 });
  const doors = new Map<string, Proxy>();
  for (const node of deployment.nodes) {
    doors.set(`${node.host}:${node.port}`, await startProxy(node));
  }
  const client = new Redis({
    sentinels: deployment.sentinels.map(({ host, port }) => ({ host, port })),
    name: deployment.name,
    natMap: (address) => {
      const door = doors.get(address);
      return door === undefined ? null : { host: door.host, port: door.port };
    },
  });
  client.on('error', () => undefined);
  const holdfast = new Holdfast(client, { requestTimeout: 500, unreachableAfter: 1000 });
  try {
    const lease = await holdfast.mutex('key').acquire();
    for (const door of doors.values()) door.silence();
    await failure(holdfast.mutex('other').tryAcquire(), 'HOLDFAST_UNREACHABLE');
    const works = (): Promise<boolean> =>
      holdfast
        .mutex('other')
        .run(() => true)
        .catch(() => false);
    await until(works, { within: 20_000 });
    expect(await lease.release()).toBe('freed');
  } finally {
    await holdfast.close({ grace: 0 });
    client.disconnect();
    for (const door of doors.values()) await door.close();
  }
});
