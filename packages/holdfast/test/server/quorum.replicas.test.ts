/** A member of a quorum that gets a replica, or becomes one: both change its replication id. */
import { type Server, until } from 'holdfast-testkit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { portFor } from '../../src/store/clients/detect.js';
import type { ServerStatus } from '../../src/store/quorum/acceptor.js';
import { RedisAcceptor } from '../../src/store/quorum/redis-acceptor.js';
import { membersOf, openClient, stopServersAfterwards } from '../support/backends.js';
import { freshKey } from '../suites/helpers.js';

let server: Server;
let other: Server;
let opened: Awaited<ReturnType<typeof openClient>>;
let acceptor: RedisAcceptor;

beforeAll(async () => {
  [server, other] = (await membersOf(3)) as [Server, Server];
  opened = await openClient('ioredis-6', server);
});
afterAll(() => opened.close());
stopServersAfterwards();

const check = (): Promise<ServerStatus> => acceptor.check({ durable: false });

async function replicate(replica: Server, master: Server): Promise<void> {
  await replica.command('REPLICAOF', master.host, master.port);
  await until(async () => {
    return String(await replica.command('INFO', 'replication')).includes('link_status:up');
  });
}

/** The boot of a member that votes and then gets a replica. */
async function followed(): Promise<string> {
  acceptor = new RedisAcceptor(portFor(opened.client), `marker ${freshKey()}`);
  const { boot } = await check();
  const decision = { boot, from: 0, mark: 0, long: [], partial: false };
  await acceptor.check({ durable: false, decision });
  await replicate(other, server);
  return boot;
}

it('a member that gets a replica keeps its memory', async () => {
  const before = await followed();
  const { boot, votesFrom } = await check();
  expect(boot).not.toBe(before);
  expect(votesFrom).toBe(0);
  await other.command('REPLICAOF', 'NO', 'ONE');
});

it('a member that was a replica of its replica has an older memory', async () => {
  await followed();
  await other.command('REPLICAOF', 'NO', 'ONE');
  // otherwise it would go on with its own memory
  await server.command('SET', freshKey(), 'a later write');
  await replicate(server, other);
  await server.command('REPLICAOF', 'NO', 'ONE');
  expect((await check()).votesFrom).toBe(undefined);
});
