/** The age of the memory of a master is never more than the time since its start. */
import { type Server, startServer, until } from 'holdfast-testkit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Line } from '../../src/store/clients/line.js';
import { memoryAt } from '../../src/store/redis/memory-age.js';

const SERVERS = ['redis', 'valkey'] as const;
const running = new Map<string, Server>();
beforeAll(async () => {
  for (const name of SERVERS) running.set(name, await startServer({ server: name }));
});
afterAll(async () => {
  for (const server of running.values()) await server.stop();
});

function lineOf(server: Server): Line {
  return {
    send: (commands) => commands.map((words) => server.command(...words)),
    close: async () => undefined,
  };
}

it.each(SERVERS)('%s that starts shortly before a full second', async (name) => {
  const server = running.get(name) as Server;
  // servers tell for how many whole seconds they run, as the difference of two clocks in seconds
  await until(() => Date.now() % 1000 > 800, { every: 5 });
  const start = Date.now();
  await server.restart();
  const started = Date.now();
  for (let count = 0; Date.now() < started + 2500; count++) {
    const { recorded } = await memoryAt(lineOf(server), `memory ${count}`);
    expect(recorded).toBeLessThanOrEqual(Date.now() - start);
  }
  const old = await memoryAt(lineOf(server), 'memory of 2.5 s');
  expect(old.recorded).toBeGreaterThan(500);
});

it('redis that starts as a replica from a snapshot, and is promoted', async () => {
  const server = running.get('redis') as Server;
  const line = lineOf(server);
  const marker = 'memory before the snapshot';
  await using other = await startServer({ server: 'redis' });
  // a snapshot names the replication id if there is a replica
  await other.command('REPLICAOF', server.host, server.port);
  await until(async () => String(await other.command('INFO', 'replication')).includes('status:up'));
  // its memory is an hour old
  await memoryAt(line, marker);
  await server.command('HSET', marker, 'from', Date.now() - 3_600_000);
  expect((await memoryAt(line, marker)).recorded).toBeGreaterThan(3_500_000);
  // the replica may still be copying a background save
  await until(async () => (await server.command('SAVE').catch(() => '')) === 'OK');
  await server.kill();
  // its configuration names another server, which sends its data slowly
  await other.command('REPLICAOF', 'NO', 'ONE');
  for (let at = 0; at < 200; at++) await other.command('SET', `${at}`, 'x'.repeat(10_000));
  await other.command('CONFIG', 'SET', 'repl-diskless-sync', 'yes');
  await other.command('CONFIG', 'SET', 'repl-diskless-sync-delay', '0');
  await other.command('CONFIG', 'SET', 'rdb-key-save-delay', '50000');
  const start = Date.now();
  await server.restart({ args: ['--replicaof', other.host, `${other.port}`] });
  const copied = async (): Promise<number> => {
    const info = String(await server.command('INFO', 'stats'));
    return Number(/total_net_repl_input_bytes:(\d+)/.exec(info)?.[1]);
  };
  await until(async () => (await copied()) > 0, { within: 20_000 });
  await server.command('REPLICAOF', 'NO', 'ONE');

  const { recorded } = await memoryAt(line, marker);
  expect(recorded).toBeLessThanOrEqual(Date.now() - start);
});
