/** The doctor examines each member of a quorum and each master of a cluster, and compares them. */
import {
  makeClockShim,
  paced,
  type Server,
  startCluster,
  startProxy,
  startReplicated,
  until,
} from 'holdfast-testkit';
import { describe, expect, it } from 'vitest';
import type { DoctorReport, QuorumOptions } from '../../src/index.js';
import { CLIENTS, type ClientName, openClient } from '../support/backends.js';
import { openCluster } from '../support/clusters.js';
import { openSentinel } from '../support/sentinels.js';
import { codes, made, only, type Place, start, TERMS } from './doctor.support.js';

/** The report of a quorum on servers with these addresses. */
async function quorumOf(
  hosts: readonly string[],
  settings: QuorumOptions = { durable: true },
  args: string[] = [],
): Promise<DoctorReport> {
  const servers = await Promise.all(hosts.map((host) => start(args, { bind: bindOf(host) })));
  const places = hosts.map((host, at) => ({ host, port: (servers[at] as Server).port }));
  return across(places, settings);
}

const bindOf = (host: string): string[] => (host === '127.0.0.1' ? [] : [host]);

async function across(places: readonly Place[], settings: QuorumOptions): Promise<DoctorReport> {
  const opening = places.map((place, at) =>
    openClient(CLIENTS[at % CLIENTS.length] as ClientName, place),
  );
  const holdfast = await made.across(Promise.all(opening), TERMS, settings);
  return holdfast.doctor();
}

describe('a quorum', () => {
  it('on three hosts has no findings', async () => {
    expect(codes(await quorumOf(['127.0.0.1', '127.0.0.2', '127.0.0.3']))).toEqual([]);
  });

  it('on one host', async () => {
    const found = await only(quorumOf(['127.0.0.1', '127.0.0.1', '127.0.0.2']));
    expect(found).toMatchObject({ code: 'co-located-servers', severity: 'warning', server: '' });
    expect(found.evidence).toMatch(/ are on 127.0.0.1$/);
  });

  it('that contains one server twice: two are left, an even number', async () => {
    const [one, two] = [await start([], { bind: ['127.0.0.2'] }), await start()];
    const places = [one, { host: '127.0.0.2', port: one.port }, { ...two, host: '127.0.0.1' }];
    const report = await across(places, { durable: true });
    const found = report.findings.find(({ code }) => code === 'not-independent');
    expect(found?.evidence).toMatch(/have the run_id/);
    expect(found?.message).toContain('even');
  });

  it('of servers that forget, with the option durable and without it', async () => {
    const hosts = ['127.0.0.1', '127.0.0.2', '127.0.0.3'];
    const lazy = ['--appendfsync', 'everysec'];
    const report = await quorumOf(hosts, { durable: true }, lazy);
    expect(codes(report)).toEqual(Array(3).fill('durable-without-persistence'));
    expect(codes(await quorumOf(hosts, { durable: false }, lazy))).toEqual([]);
  });

  it('with a member whose messages do not arrive, and one that may not subscribe', async () => {
    const users = ['default on nopass ~* &* +@all'];
    const servers = await Promise.all([1, 2, 3].map(() => start([], { users })));
    const [one, two, three] = servers as [Server, Server, Server];
    await using proxy = await startProxy(two);
    const terms = { ...TERMS, requestTimeout: paced(500) };
    const about = async (): Promise<string[]> => {
      const opening = [one, proxy, three].map((place) => openClient('ioredis-6', place));
      const { findings } = await (await made.across(Promise.all(opening), terms)).doctor();
      await made.close();
      const found = findings.filter(({ code }) => /^(no-pushes|missing-right)$/.test(code));
      return found.map(({ code, server, advice }) => {
        return `${code} ${server}${advice.includes('+subscribe') ? ' +subscribe' : ''}`;
      });
    };
    // a control: nothing is found while all messages arrive
    expect(await about()).toEqual([]);
    proxy.dropPush(([kind]) => kind === 'message');
    await three.command('ACL', 'SETUSER', 'default', '-subscribe');
    expect(await about()).toEqual([
      `no-pushes ${proxy.host}:${proxy.port}`,
      `missing-right ${three.host}:${three.port} +subscribe`,
    ]);
  });

  it('with a member that does not vote', { timeout: paced(120_000) }, async () => {
    const hosts = ['127.0.0.1', '127.0.0.2', '127.0.0.3'];
    const servers = await Promise.all(hosts.map((host) => start([], { bind: bindOf(host) })));
    const places = hosts.map((host, at) => ({ host, port: (servers[at] as Server).port }));
    const opening = Promise.all(places.map((place) => openClient('ioredis-6', place)));
    const holdfast = await made.across(opening, TERMS, { restartGuard: 1 });
    const used = (): Promise<boolean> => holdfast.mutex('k').run(async () => true);
    const found = async (): Promise<string[][]> => {
      const { findings } = await holdfast.doctor();
      return findings.map(({ code, server, evidence }) => [code, server, evidence]);
    };
    // a control: nothing is found before the first use, and while all vote
    expect(await found()).toEqual([]);
    await until(used);
    // a server that was seen after the first grant votes a minute later
    await until(async () => (await found()).length === 0, { within: 90_000 });
    await servers[1]?.command('FLUSHALL');
    const address = `127.0.0.2:${servers[1]?.port}`;
    expect(await found()).toEqual([
      ['not-voting', address, 'no process has seen it so'],
      ['no-spare-server', '', '2 of 3 members answer and vote, 2 are needed'],
    ]);
    await until(
      async () => (await used()) && / votes in \d+ s$/.test((await found())[0]?.[2] ?? ''),
    );
  });

  it('with clocks that differ, and with a member that is down', async () => {
    const shim = await makeClockShim();
    const hosts = ['127.0.0.1', '127.0.0.2', '127.0.0.3'];
    const servers = await Promise.all(
      hosts.map((host, at) =>
        start([], { bind: bindOf(host), env: at === 1 ? (shim?.env ?? {}) : {} }),
      ),
    );
    shim?.step(20_000);
    const places = hosts.map((host, at) => ({ host, port: (servers[at] as Server).port }));
    const report = await across(places, { durable: true });
    const found = report.findings.find(({ code }) => code === 'clocks-differ');
    expect(found?.evidence).toContain(`127.0.0.2:${servers[1]?.port} is`);
    await made.close();
    const opening = Promise.all(places.map((place) => openClient('node-redis-6', place)));
    const holdfast = await made.across(opening, { ...TERMS, requestTimeout: paced(300) });
    servers[1]?.pause();
    const down = await holdfast.doctor();
    expect(codes(down)).toEqual(['unreachable', 'no-spare-server']);
    servers[1]?.resume();
  });
});

it('each master of a cluster is examined', async () => {
  await using cluster = await startCluster({ server: 'redis' });
  const { nodes } = cluster;
  for (const node of nodes) {
    await node.command('CONFIG', 'SET', 'appendonly', 'yes');
    await node.command('CONFIG', 'SET', 'appendfsync', 'always');
  }
  const report = async (client: ClientName): Promise<DoctorReport> =>
    (await made.on(openCluster(client, nodes), TERMS)).doctor();
  for (const client of CLIENTS) {
    const { findings, servers } = await report(client);
    expect(findings).toEqual([]);
    expect(servers.map(({ address }) => address).sort()).toEqual(
      nodes.map(({ host, port }) => `${host}:${port}`).sort(),
    );
  }
  await nodes[1]?.command('CONFIG', 'SET', 'maxmemory-policy', 'volatile-ttl');
  const found = await only(report('ioredis-6'));
  expect(found).toMatchObject({ code: 'eviction', server: `127.0.0.1:${nodes[1]?.port}` });
  for (const node of nodes) expect(await node.command('DBSIZE')).toBe(0);
  await made.close();
});

it('the master under Sentinel is examined', async () => {
  await using group = await startReplicated({ server: 'redis', downAfter: 60_000 });
  const { host, port } = await group.master();
  for (const client of CLIENTS) {
    const holdfast = await made.on(openSentinel(client, group), TERMS);
    const { findings, servers } = await holdfast.doctor();
    expect(servers).toMatchObject([{ address: `${host}:${port}` }]);
    const all = new Set(findings.map(({ code }) => code));
    const hangs = client.startsWith('node') ? ['client-may-hang'] : [];
    expect(all).toEqual(new Set(['no-persistence', 'unacknowledged-replicas', ...hangs]));
  }
  const detecting = await made.on(
    openSentinel('ioredis-6', group, { failoverDetector: true }),
    TERMS,
  );
  expect(codes(await detecting.doctor())).toContain('client-may-end');
  const limited = await made.on(
    openSentinel('node-redis-6', group, { socketTimeout: 2000 }),
    TERMS,
  );
  expect(codes(await limited.doctor())).not.toContain('client-may-hang');
  await made.close();
});
