/** Sentinels that have a password of their own, before servers with another one. */
import { type Replicated, type Server, startReplicated } from 'holdfast-testkit';
import { Redis } from 'ioredis';
import { createSentinel } from 'redis';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { Holdfast, type RedisClient } from '../../src/index.js';

let group: Replicated;
const ends: (() => unknown)[] = [];
beforeAll(async () => {
  // no fail-over belongs to these tests
  group = await startReplicated({ server: 'redis', downAfter: 60_000 });
  const protect = (server: Server, password: string): Promise<unknown> =>
    server.command('ACL', 'SETUSER', 'default', 'resetpass', `>${password}`);
  await Promise.all([
    ...group.nodes.map((node) => protect(node, 'data')),
    ...group.sentinels.map((sentinel) => protect(sentinel, 'watch')),
  ]);
}, 60_000);
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});
afterAll(() => group.stop());

function ioredis(sentinelPassword: string): RedisClient {
  const sentinels = group.sentinels.map(({ host, port }) => ({ host, port }));
  const client = new Redis({ sentinels, name: group.name, sentinelPassword, password: 'data' });
  client.on('error', () => undefined);
  ends.push(() => client.disconnect());
  return client;
}

function nodeRedis(password: string): RedisClient {
  const client = createSentinel({
    name: group.name,
    sentinelRootNodes: group.sentinels.map(({ host, port }) => ({ host, port })),
    sentinelClientOptions: { password },
    nodeClientOptions: { password: 'data' },
  });
  client.on('error', () => undefined);
  client.connect().catch(() => undefined);
  ends.push(() => client.destroy());
  return client;
}

describe.each([
  ['ioredis', ioredis],
  ['node-redis', nodeRedis],
] as const)('with %s', (_, open) => {
  it('locks work, and messages arrive', async () => {
    const holdfast = new Holdfast(open('watch'), { unreachableAfter: 20_000 });
    ends.unshift(() => holdfast.close());
    const lease = await holdfast.mutex('k').acquire();
    expect(await holdfast.ready()).toMatchObject({ pushes: true });
    expect(await lease.release()).toBe('freed');
  });

  it('control: with another password nothing works', async () => {
    const limits = { requestTimeout: 300, unreachableAfter: 500 };
    const holdfast = new Holdfast(open('other'), limits);
    ends.unshift(() => holdfast.close());
    await expect(holdfast.mutex('k').acquire()).rejects.toMatchObject({
      code: 'HOLDFAST_UNREACHABLE',
    });
  });
});
