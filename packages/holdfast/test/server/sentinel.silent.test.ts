/** An ioredis client that asks sentinels for its master, and whose connection dies silently. */
import { type Proxy, type Replicated, startProxy, startReplicated, until } from 'holdfast-testkit';
import { Redis } from 'ioredis';
import { expect, it } from 'vitest';
import { Holdfast } from '../../src/index.js';
import { portFor } from '../../src/store/clients/detect.js';
import { endSilence } from '../../src/store/clients/silence.js';
import { failure } from '../suites/helpers.js';

/** A proxy before each data server, by the address that the sentinels tell. */
async function doorsOf(deployment: Replicated): Promise<Map<string, Proxy>> {
  const doors = new Map<string, Proxy>();
  for (const node of deployment.nodes) {
    doors.set(`${node.host}:${node.port}`, await startProxy(node));
  }
  return doors;
}

function open(
  deployment: Replicated,
  doors: Map<string, Proxy>,
  sentinels: readonly { readonly host: string; readonly port: number }[],
): Redis {
  const client = new Redis({
    sentinels: sentinels.map(({ host, port }) => ({ host, port })),
    updateSentinels: false,
    name: deployment.name,
    natMap: (address) => {
      const door = doors.get(address);
      return door === undefined ? null : { host: door.host, port: door.port };
    },
  });
  client.on('error', () => undefined);
  return client;
}

it('is ended, and connects again, if a new connection is answered', async () => {
  await using deployment = await startReplicated({ server: 'redis', replicas: 1 });
  const doors = await doorsOf(deployment);
  const client = open(deployment, doors, deployment.sentinels);
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

it('is left alone while it looks for its master, as it would end for good', async () => {
  await using deployment = await startReplicated({ server: 'redis', replicas: 1 });
  const doors = await doorsOf(deployment);
  const guards = await Promise.all(deployment.sentinels.map((sentinel) => startProxy(sentinel)));
  const client = open(deployment, doors, guards);
  try {
    await client.ping();
    for (const door of doors.values()) door.silence();
    const unanswered = client.eval('return 1', 0).catch(() => 'rejected');
    let looks = false;
    // the pause between the two answers of the new connection is the short one
    const pause = async (ms: number): Promise<void> => {
      if (ms >= 1000) return new Promise((resolve) => setTimeout(resolve, ms).unref());
      for (const guard of guards) guard.holdRequests();
      client.stream.destroy();
      await until(() => guards.some(({ held }) => held > 0));
      looks = client.status === 'connecting';
    };
    await endSilence(portFor(client), pause);
    expect(looks).toBe(true);
    for (const guard of guards) guard.releaseRequests();
    await until(() => client.status === 'ready' || client.status === 'end');
    expect(client.status).toBe('ready');
    expect(await unanswered).toBe(1);
  } finally {
    client.disconnect();
    for (const proxy of [...doors.values(), ...guards]) await proxy.close();
  }
});
