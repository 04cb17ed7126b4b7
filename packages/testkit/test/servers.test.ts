import { existsSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { prepare, RawClient, type Server, type ServerName, startServer } from '../src/index.js';

const TIMEOUT = 20_000;

describe.each<ServerName>(['redis', 'valkey'])('%s', (name) => {
  let server: Server;

  beforeAll(async () => {
    await prepare(name);
    server = await startServer({ server: name });
  }, 300_000);

  afterAll(() => server?.stop());

  it('reports its name, version and URL', () => {
    expect(server.name).toBe(name);
    expect(server.version).toMatch(/^\d+\.\d+\.\d+/);
    expect(server.url).toBe(`redis://127.0.0.1:${server.port}`);
  });

  it('answers commands, and rejects with an error reply', async () => {
    expect(await server.command('SET', 'a', 'é')).toBe('OK');
    expect(await server.command('GET', 'a')).toBe('é');
    await expect(server.command('INCR', 'a')).rejects.toThrow(/not an integer/);
  });

  it('counts commands', async () => {
    await server.command('CONFIG', 'RESETSTAT');
    await server.command('GET', 'a');
    await server.command('GET', 'a');
    await server.command('CLIENT', 'ID');
    const stats = await server.commandstats();
    expect(stats.get('get')).toMatchObject({ calls: 2 });
    expect(stats.get('client|id')).toMatchObject({ calls: 1 });
  });

  it('keeps nothing on disk', async () => {
    expect(await server.command('CONFIG', 'GET', 'save')).toEqual(['save', '']);
    expect(await server.command('CONFIG', 'GET', 'appendonly')).toEqual(['appendonly', 'no']);
  });

  it('does not answer while paused, and answers after resume', { timeout: TIMEOUT }, async () => {
    const client = await RawClient.connect(server);
    server.pause();
    let answered = false;
    const reply = client.send('PING').then((pong) => {
      answered = true;
      return pong;
    });
    const other = await RawClient.connect(server);
    expect(answered).toBe(false);
    server.resume();
    expect(await reply).toBe('PONG');
    client.close();
    other.close();
  });

  it('restarts on the same port, empty, after stop, kill and while running', {
    timeout: TIMEOUT,
  }, async () => {
    const { port } = server;
    const ends = [() => server.stop(), () => server.kill(), () => Promise.resolve()];
    for (const end of ends) {
      const { pid } = server;
      await server.command('SET', 'kept', 1);
      await end();
      await server.restart();
      expect(server.pid).not.toBe(pid);
      expect(server.port).toBe(port);
      expect(await server.command('DBSIZE')).toBe(0);
    }
  });

  it('stops while paused', { timeout: TIMEOUT }, async () => {
    const paused = await startServer({ server: name });
    const folder = ((await paused.command('CONFIG', 'GET', 'dir')) as string[])[1] as string;
    const { pid } = paused;
    expect(existsSync(folder)).toBe(true);
    paused.pause();
    await paused.stop();
    expect(() => process.kill(pid, 0)).toThrow('ESRCH');
    expect(existsSync(folder)).toBe(false);
  });

  it('supports passwords, users and server arguments', { timeout: TIMEOUT }, async () => {
    await using guarded = await startServer({
      server: name,
      args: ['--maxmemory', '64mb'],
      password: 'a b"c',
      users: ['alice on >secret ~app:* +get'],
    });
    expect(guarded.url).toBe(`redis://:a%20b%22c@127.0.0.1:${guarded.port}`);
    const client = await RawClient.connect(guarded);
    await expect(client.send('PING')).rejects.toThrow('NOAUTH');
    expect(await client.send('AUTH', 'a b"c')).toBe('OK');
    expect(await client.send('CONFIG', 'GET', 'maxmemory')).toEqual(['maxmemory', '67108864']);
    expect(await client.send('AUTH', 'alice', 'secret')).toBe('OK');
    await expect(client.send('SET', 'app:1', 1)).rejects.toThrow('NOPERM');
    client.close();
    await guarded.restart();
    expect(await guarded.command('PING')).toBe('PONG');
  });

  it('supports TLS', { timeout: TIMEOUT }, async () => {
    await using secure = await startServer({ server: name, tls: true });
    const { host, ca, tlsPort } = secure;
    const client = await RawClient.connect({ host, port: tlsPort as number, ca: ca as string });
    expect(await client.send('PING')).toBe('PONG');
    client.close();
    const stranger = RawClient.connect({ host, port: tlsPort as number, ca: '' });
    await expect(stranger).rejects.toThrow(/certificate/);
  });

  it('starts many servers at the same time', { timeout: TIMEOUT }, async () => {
    const servers = await Promise.all(
      Array.from({ length: 8 }, () => startServer({ server: name })),
    );
    expect(new Set(servers.map(({ port }) => port)).size).toBe(8);
    await Promise.all(servers.map((each) => each.stop()));
  });

  it('reports the server log when it cannot start', { timeout: TIMEOUT }, async () => {
    const wrong = startServer({ server: name, args: ['--no-such-setting', 'yes'] });
    await expect(wrong).rejects.toThrow(/exited at start[^]*no-such-setting/);
  });
});
