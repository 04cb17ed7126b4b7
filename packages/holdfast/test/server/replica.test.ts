/** Pushes and replicas: a subscriber that PUBLISH does not count must not receive the message. */
import { Redis } from 'ioredis';
import { RawClient, startServer, until } from 'holdfast-testkit';
import { describe, expect, it } from 'vitest';
import { Holdfast } from '../../src/index.js';

describe.each(['redis', 'valkey'] as const)('%s with a replica', (name) => {
  it('delivers grants only on the server that made them', async () => {
    await using main = await startServer({
      server: name,
      args: ['--repl-diskless-sync-delay', '0'],
    });
    const args = ['--replicaof', main.host, `${main.port}`];
    await using replica = await startServer({ server: name, args });
    await until(async () => String(await replica.command('INFO')).includes('link_status:up'), {
      within: 15_000,
    });
    const listener = await RawClient.connect(replica);
    await listener.send('PSUBSCRIBE', 'holdfast:wake:*');
    const clients = [new Redis(main.url), new Redis(main.url)];
    const [one, other] = clients.map((client) => new Holdfast(client)) as [Holdfast, Holdfast];

    const held = await one.mutex('a').acquire();
    const waiting = other.mutex('a').acquire();
    await until(async () => (await one.inspect('a'))?.waiterCount === 1);
    await until(async () => ((await main.command('PUBSUB', 'CHANNELS')) as string[]).length > 0);
    await held.release();
    await (await waiting).release();
    expect((await main.commandstats()).get('publish')?.calls).toBeGreaterThan(0);

    // a client's own publication does arrive, after all earlier messages
    await main.command('PUBLISH', 'holdfast:wake:last', 'last');
    await until(() => listener.pushes.length > 0);
    expect(listener.pushes.map((push) => (push as string[]).at(-1))).toEqual(['last']);

    await Promise.all([one.close(), other.close()]);
    for (const client of clients) client.disconnect();
    listener.close();
  });
});
