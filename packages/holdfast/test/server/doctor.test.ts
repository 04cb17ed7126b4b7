/** The doctor: each check finds a server that is configured to be bad, and no healthy one. */
import { rmSync } from 'node:fs';
import { connect, createServer, type Server as Listener } from 'node:net';
import { makeClockShim, paced, type Server, startProxy, until } from 'holdfast-testkit';
import type { createClient } from 'redis';
import { describe, expect, it } from 'vitest';
import { Holdfast, memory } from '../../src/index.js';
import { CLIENTS, openClient } from '../support/backends.js';
import { codes, doctor, made, only, type Place, start, TERMS } from './doctor.support.js';

describe('a healthy deployment has no findings', () => {
  it.each(CLIENTS)('one server, %s', async (client) => {
    const server = await start([], { server: client.startsWith('io') ? 'redis' : 'valkey' });
    const { findings, servers } = await doctor(server, {}, {}, client);
    expect(findings).toEqual([]);
    expect(servers).toHaveLength(1);
    expect(servers[0]).toMatchObject({ address: `127.0.0.1:${server.port}`, clockOffset: 0 });
    expect(servers[0]?.version).toBe(`${server.name} ${server.version}`);
    expect(await server.command('DBSIZE')).toBe(0);
  });

  it('with a prefix of the client, and other RESP', async () => {
    const server = await start();
    const login = { keyPrefix: 'app:', protocol: 2 };
    expect(codes(await doctor(server, {}, login))).toEqual([]);
    expect(codes(await doctor(server, {}, { protocol: 3 }, 'node-redis-5'))).toEqual([]);
    expect(await server.command('DBSIZE')).toBe(0);
  });

  it.each(['node-redis-5', 'node-redis-6'] as const)('a signal of %s', async (client) => {
    const opened = await openClient(client, await start());
    const signalled = opened.client as ReturnType<typeof createClient>;
    const aborted = signalled.withAbortSignal(AbortSignal.abort());
    const { findings } = await made.add(new Holdfast(aborted, TERMS)).doctor();
    expect(findings).toEqual([]);
    await made.close();
    await opened.close();
  });

  it('memory', async () => {
    const holdfast = made.add(new Holdfast(memory()));
    expect(await holdfast.doctor()).toEqual({ findings: [], servers: [] });
  });
});

describe('settings', () => {
  it('eviction', async () => {
    const policy = ['--maxmemory-policy', 'allkeys-lru'];
    const found = await only(doctor(await start([...policy, '--maxmemory', '100mb'])));
    expect(found).toMatchObject({ code: 'eviction', severity: 'danger' });
    expect(found.evidence).toBe('maxmemory-policy allkeys-lru, maxmemory 104857600');
    const unlimited = await only(doctor(await start(policy)));
    expect(unlimited).toMatchObject({ code: 'eviction', severity: 'warning' });
  });

  it('memory near its limit, and full', async () => {
    const server = await start();
    // what the connections need is a small part of this
    await server.command('SETRANGE', 'much', 20_000_000, 'x');
    const used = Number(/used_memory:(\d+)/.exec(String(await server.command('INFO')))?.[1]);
    const limit = Math.ceil(used * 1.05);
    await server.command('CONFIG', 'SET', 'maxmemory', limit);
    const found = await only(doctor(server));
    expect(found).toMatchObject({ code: 'memory-limit', severity: 'warning' });
    expect(found.evidence).toContain(`of maxmemory ${limit}`);
    await server.command('CONFIG', 'SET', 'maxmemory', Math.floor(used / 2));
    const full = await doctor(server);
    expect(full.findings[0]).toMatchObject({ code: 'memory-limit', severity: 'danger' });
  });

  it('no persistence, or lazy persistence', async () => {
    const server = await start(['--appendonly', 'no']);
    const none = await only(doctor(server));
    expect(none).toMatchObject({ code: 'no-persistence', severity: 'danger' });
    expect(none.evidence).toBe('appendonly no, save ""');
    await server.command('CONFIG', 'SET', 'save', '3600 1');
    const snapshots = await only(doctor(server));
    expect(snapshots).toMatchObject({ code: 'lazy-persistence', severity: 'warning' });
    expect(snapshots.evidence).toBe('appendonly no, save "3600 1"');
    const lazy = await only(doctor(await start(['--appendfsync', 'everysec'])));
    expect(lazy).toMatchObject({ code: 'lazy-persistence' });
    expect(lazy.evidence).toBe('appendonly yes, appendfsync everysec');
  });

  it('a disk that fails', async () => {
    const server = await start(['--appendonly', 'no', '--save', '3600', '1']);
    rmSync(server.folder, { recursive: true });
    await server.command('BGSAVE');
    const failed = async (): Promise<boolean> =>
      String(await server.command('INFO')).includes('rdb_last_bgsave_status:err');
    await until(failed, { within: 15_000 });
    const [first] = (await doctor(server)).findings;
    expect(first).toMatchObject({ code: 'writes-fail', severity: 'danger' });
    // it refuses to stop without its data
    await server.kill();
  });

  it('replicas, and a replica', async () => {
    const main = await start(['--appendonly', 'no', '--repl-diskless-sync-delay', '0']);
    const replica = await start(['--appendonly', 'no', '--replicaof', main.host, `${main.port}`]);
    const online = async (): Promise<boolean> =>
      String(await replica.command('INFO')).includes('link_status:up');
    await until(online, { within: 15_000 });
    const { findings } = await doctor(main);
    const unacknowledged = findings.find(({ code }) => code === 'unacknowledged-replicas');
    expect(unacknowledged?.evidence).toBe('connected_slaves:1, min-replicas-to-write 0');
    expect(unacknowledged?.advice).toContain('set the option replicas to 1');
    const waiting = (await doctor(main, { replicas: 1 })).findings.map(({ code }) => code);
    expect(waiting).not.toContain('unacknowledged-replicas');
    const [found] = (await doctor(replica)).findings;
    expect(found).toMatchObject({ code: 'read-only-replica', severity: 'danger' });
    expect(found?.evidence).toContain(`127.0.0.1:${main.port}`);
  });

  it('replicas that forget with their master, and the clock of a replica', async () => {
    const shim = await makeClockShim();
    expect(shim).toBeDefined();
    const main = await start(['--appendonly', 'no', '--repl-diskless-sync-delay', '0']);
    const follow = ['--replicaof', main.host, `${main.port}`];
    const replica = await start(follow, { env: shim?.env ?? {} });
    shim?.step(10_000);
    const online = async (): Promise<boolean> =>
      /slave0:.*state=online/.test(String(await main.command('INFO', 'replication')));
    await until(online, { within: 15_000 });
    for (const client of CLIENTS) {
      const { findings } = await doctor(main, { replicas: 1, ttl: 20_000 }, {}, client);
      expect(findings).toContainEqual(
        expect.objectContaining({ code: 'replicas-without-persistence', severity: 'danger' }),
      );
      const clocks = findings.find(({ code }) => code === 'clocks-differ');
      expect(clocks?.evidence).toMatch(
        new RegExp(`127.0.0.1:${replica.port} is (9|10)\\d{3} ms ahead of 127.0.0.1:${main.port}`),
      );
    }
    const margin = { replicas: 1, ttl: 20_000, clockMargin: 20_000 };
    expect(codes(await doctor(main, margin))).not.toContain('clocks-differ');
  });

  it('a node of a cluster', async () => {
    const found = await only(doctor(await start(['--cluster-enabled', 'yes'])));
    expect(found).toMatchObject({ code: 'cluster-node', severity: 'danger' });
  });

  it('a server that is too old', async () => {
    const server = await start();
    const relay = await rewriting(server, /redis_version:\d/g, 'redis_version:6');
    const found = await only(doctor(relay));
    expect(found).toMatchObject({ code: 'old-server', severity: 'danger' });
    expect(found.evidence).toMatch(/^redis_version:6\./);
    relay.close();
  });

  it('another prefix in use', async () => {
    const server = await start();
    const other = await made.on(openClient('node-redis-6', server), { prefix: 'billing:' });
    const lease = await other.mutex('k').acquire();
    await server.command('SET', 'cache:{k}', 'no lock');
    await server.command('HSET', 'user:{7}', 'name', 'no lock');
    const found = await only(doctor(server));
    expect(found).toMatchObject({ code: 'other-prefix', severity: 'notice' });
    expect(found.evidence).toBe('this prefix is "holdfast:", others are "billing:"');
    await lease.release();
  });
});

/** A server in front of another one that replaces text in its replies, of the same length. */
async function rewriting(target: Server, what: RegExp, by: string): Promise<Place & Listener> {
  const listener = createServer((socket) => {
    const link = connect(target.port, target.host);
    for (const one of [socket, link]) one.on('error', () => undefined);
    socket.pipe(link);
    link.on('data', (bytes) => socket.write(bytes.toString('latin1').replace(what, by), 'latin1'));
    link.on('close', () => socket.destroy());
    socket.on('close', () => link.destroy());
  });
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const { port } = listener.address() as { port: number };
  return Object.assign(listener, { host: '127.0.0.1', port });
}

describe('delays', () => {
  it('a slow round trip', async () => {
    await using proxy = await startProxy(await start());
    const delayed = proxy.delayReply(([name]) => name === 'TIME', 60);
    const terms = { ttl: 10_000, claimWindow: 400 };
    const found = (await doctor(proxy, terms)).findings.filter(({ code }) => /trip/.test(code));
    expect(found).toMatchObject([{ code: 'slow-round-trip', severity: 'warning' }]);
    expect(found[0]?.evidence).toMatch(/took 6\d|took [7-9]\d|took \d{3}/);
    delayed.remove();
    await made.close();
  });

  it('slow scripts, by the slow log and by the latency monitor', async () => {
    const server = await start(['--latency-monitor-threshold', '1']);
    const busy = "local n = 0 for i = 1, 2e7 do n = n + i end return 'done'";
    await server.command('EVAL', busy, 0);
    const { findings } = await doctor(server, { claimWindow: 200, ttl: 60_000 });
    const found = findings.find(({ code }) => code === 'slow-commands');
    expect(found?.evidence).toMatch(/SLOWLOG: EVAL took \d+ ms/);
    expect(found?.evidence).toMatch(/LATENCY: command took \d+ ms/);
  });

  it('a proxy that breaks pub/sub', async () => {
    await using proxy = await startProxy(await start());
    proxy.dropPush(([kind]) => kind === 'message');
    const found = await only(doctor(proxy, { requestTimeout: paced(300) }));
    expect(found).toMatchObject({ code: 'no-pushes', severity: 'warning' });
    expect(found.evidence).toBe('PUBLISH counted 1 receivers, and no message came');
    await made.close();
  });

  it('a clock that differs from that of this machine', async () => {
    const shim = await makeClockShim();
    expect(shim).toBeDefined();
    const server = await start([], { env: shim?.env ?? {} });
    expect(codes(await doctor(server))).toEqual([]);
    shim?.step(30_000);
    const report = await doctor(server);
    expect(report.findings).toMatchObject([
      { code: 'clock-differs-from-machine', severity: 'notice' },
    ]);
    expect(report.servers[0]?.clockOffset).toBeGreaterThan(29_000);
  });

  it('a server that does not answer', async () => {
    const server = await start();
    const holdfast = await made.on(openClient('node-redis-6', server), { requestTimeout: 200 });
    server.pause();
    const found = await only(holdfast.doctor());
    expect(found).toMatchObject({ code: 'unreachable', severity: 'danger' });
    expect(found.evidence).toBe('no answer within 200 ms');
    server.resume();
  });
});
