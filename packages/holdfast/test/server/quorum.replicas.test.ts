/** A member of a quorum that gets a replica, or becomes one: both change its replication id. */
import { type Server, startServer, until } from 'holdfast-testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { portFor } from '../../src/store/clients/detect.js';
import type { Proposal, ServerStatus } from '../../src/store/quorum/acceptor.js';
import { RedisAcceptor } from '../../src/store/quorum/redis-acceptor.js';
import { openClient } from '../support/backends.js';
import { freshKey } from '../suites/helpers.js';

const unheard: Proposal = {
  ...{
    ballot: '1'.padStart(28, '0'),
    next: '2'.padStart(28, '0'),
    now: 0,
    value: '',
    keep: 60_000,
  },
  ...{ fence: 0, grows: true, messages: [{ channel: 'deaf', text: 'a message' }] },
};

async function replicate(replica: Server, master: Server): Promise<void> {
  await replica.command('REPLICAOF', master.host, master.port);
  await until(async () => {
    return String(await replica.command('INFO', 'replication')).includes('link_status:up');
  });
}

describe.each(['redis', 'valkey'] as const)('a member on %s', (name) => {
  let server: Server;
  let other: Server;
  let opened: Awaited<ReturnType<typeof openClient>>;
  let acceptor: RedisAcceptor;

  beforeAll(async () => {
    const args = ['--repl-diskless-sync-delay', '0'];
    const starting = [0, 1].map(() => startServer({ server: name, args }));
    [server, other] = (await Promise.all(starting)) as [Server, Server];
    opened = await openClient('ioredis-6', server);
  });
  afterAll(async () => {
    await opened.close();
    await Promise.all([server.stop(), other.stop()]);
  });

  const check = (): Promise<ServerStatus> => acceptor.check({ durable: false });

  /** The boot of the member, which votes and then gets a replica. */
  async function followed(): Promise<string> {
    acceptor = new RedisAcceptor(portFor(opened.client), `marker ${freshKey()}`);
    const { boot } = await check();
    const decision = { boot, from: 0, mark: 0, long: [], partial: false };
    await acceptor.check({ durable: false, decision });
    await replicate(other, server);
    return boot;
  }

  it('keeps its memory if it gets a replica', async () => {
    const before = await followed();
    const { boot, votesFrom } = await check();
    expect(boot).not.toBe(before);
    expect(votesFrom).toBe(0);
    acceptor.boot = boot;
    // a client may listen at the replica
    expect(await acceptor.accept(freshKey(), unheard)).toMatchObject({ status: 'yes', deaf: [] });
    await other.command('REPLICAOF', 'NO', 'ONE');
  });

  it.each([
    ['', []],
    [', whose statistics were reset', ['CONFIG', 'RESETSTAT']],
  ])('has an older memory after it was a replica of its replica%s', async (_, reset) => {
    await followed();
    await other.command('REPLICAOF', 'NO', 'ONE');
    // otherwise it would go on with its own memory
    await server.command('SET', freshKey(), 'a later write');
    await replicate(server, other);
    await server.command('REPLICAOF', 'NO', 'ONE');
    const [word, ...rest] = reset;
    if (word !== undefined) await server.command(word, ...rest);
    expect((await check()).votesFrom).toBe(undefined);
  });
});
