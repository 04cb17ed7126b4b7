/** `holdfast run` with servers that are down, silent or refuse the user, and with several. */
import { createServer } from 'node:net';
import { Holdfast } from 'holdfast';
import { freePorts, type Server, startReplicated, startServer, until } from 'holdfast-testkit';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Cli, cli } from '../cli.js';

let server: Server;
let quorum: Server[];
beforeAll(async () => {
  const users = ['reader on >weak ~* &* +@read +@connection'];
  server = await startServer({ server: 'valkey', password: 'secret', users });
  quorum = await Promise.all([1, 2, 3].map(() => startServer({ server: 'redis' })));
});
afterAll(async () => {
  await Promise.all([server, ...quorum].map((one) => one.stop()));
});

const run = (url: string, ...args: string[]): ReturnType<typeof cli> =>
  cli(['run', 'k', '--url', url, ...args, '--', 'echo', 'ran']);

describe('a server', () => {
  it('that is down leads to 69 and an advice', async () => {
    const [port] = await freePorts(1);
    const result = await run(`redis://:p4ss@127.0.0.1:${port}`);
    expect(result).toMatchObject({ code: 69, stdout: '' });
    expect(result.stderr).toContain(`the server 127.0.0.1:${port} cannot be used: connect ECONN`);
    expect(result.stderr).toContain('to do: start the server, or name another one with --url');
    expect(result.stderr).not.toContain('p4ss');
  });

  it('whose name is unknown leads to 69', async () => {
    expect(await run('redis://no-such-host.invalid')).toMatchObject({ code: 69, stdout: '' });
  });

  it('that does not answer leads to 69', async () => {
    const silent = createServer().listen(0, '127.0.0.1');
    await until(() => silent.listening);
    const { port } = silent.address() as { port: number };
    const result = await run(`redis://127.0.0.1:${port}`);
    silent.close();
    expect(result).toMatchObject({ code: 69, stdout: '' });
  });

  it('a signal ends the connecting: 130, and nothing was run', async () => {
    const asked: number[] = [];
    const silent = createServer((socket) => asked.push(Number(socket.remotePort)));
    silent.listen(0, '127.0.0.1');
    await until(() => silent.listening);
    const { port } = silent.address() as { port: number };
    const command = ['--', 'echo', 'ran'];
    for (const [words, end] of [
      [['run', 'k', ...command], { code: 130, signal: null }],
      [['once', 'k', '--at-least', '1s', ...command], { code: 130, signal: null }],
      [['lead', 'k', ...command], { code: 130, signal: null }],
      // these two have nothing to end
      [['watch'], { code: null, signal: 'SIGINT' }],
      [['dashboard', '--port', '0'], { code: null, signal: 'SIGINT' }],
    ] as const) {
      const before = asked.length;
      const env = { REDIS_URL: `redis://127.0.0.1:${port}` };
      await using program = new Cli(words, { env });
      await until(() => asked.length > before, { within: 20_000 });
      program.kill('SIGINT');
      expect(await program.exited, words[0]).toEqual(end);
      expect(program.stdout, words[0]).toBe('');
      if (end.signal === null) expect(program.stderr).toContain('SIGINT ended the connecting');
    }
    silent.close();
  });

  it('that refuses the password leads to 77, and the password is not shown', async () => {
    const result = await run(server.url.replace('secret', 'wr0ng'));
    expect(result).toMatchObject({ code: 77, stdout: '' });
    expect(result.stderr).toContain('WRONGPASS');
    expect(result.stderr).not.toContain('wr0ng');
  });

  it('that needs a password leads to 77', async () => {
    expect(await run(`redis://127.0.0.1:${server.port}`)).toMatchObject({ code: 77, stdout: '' });
  });

  it('whose user has too few rights leads to 77', async () => {
    const result = await run(`redis://reader:weak@127.0.0.1:${server.port}`);
    expect(result).toMatchObject({ code: 77, stdout: '' });
    expect(result.stderr).toContain('SECURITY.md');
  });

  it('without the database leads to 69', async () => {
    expect(await run(`${server.url}/4096`)).toMatchObject({ code: 69, stdout: '' });
  });

  it('may be named with the scheme of Valkey', async () => {
    const result = await run(server.url.replace('redis:', 'valkey:'));
    expect(result).toEqual({ code: 0, stdout: 'ran\n', stderr: '' });
  });
});

it('the master of Sentinel is used, and must exist', async () => {
  await using master = await startServer({ server: 'redis' });
  await using sentinel = await startServer({ server: 'redis', args: ['--sentinel'] });
  await sentinel.command('SENTINEL', 'MONITOR', 'main', '127.0.0.1', master.port, 1);
  const url = `redis+sentinel://127.0.0.1:${sentinel.port}`;
  expect(await run(`${url}/main`)).toEqual({ code: 0, stdout: 'ran\n', stderr: '' });
  expect(await master.command('DBSIZE')).toBeGreaterThan(0);
  const other = await run(`${url}/other`);
  expect(other).toMatchObject({ code: 69, stdout: '' });
  expect(other.stderr).toContain('the master other of Sentinel cannot be used');
});

it('a frozen master of Sentinel is left for its successor', async () => {
  await using group = await startReplicated({ server: 'redis' });
  const before = await group.master();
  const hosts = group.sentinels.map(({ host, port }) => `${host}:${port}`).join(',');
  const env = { REDIS_URL: `redis+sentinel://${hosts}/${group.name}` };
  // a live view goes on when the server does not answer
  const prefix = ['sh', '-c', 'stty cols 100 rows 24; exec "$@"', 'sh'];
  await using program = new Cli(['watch', '--every', '50ms'], { env, prefix, terminal: true });
  await program.shows(/no lock is in use/);
  before.pause();
  const after = await group.successor(before);
  const client = new Redis(after.url);
  const holdfast = new Holdfast(client);
  await holdfast.mutex('on the successor').acquire();
  await program.shows(/on the successor/);
  await holdfast.close({ grace: 0 });
  client.disconnect();
  before.resume();
});

describe('three servers', () => {
  const urls = (): string[] => quorum.map(({ url }) => url);

  it('are a quorum, with one of them down', async () => {
    await quorum[2]?.stop();
    const args = ['run', 'k', '--durable', '--', 'echo', 'ran'];
    const options = urls().flatMap((url) => ['--url', url]);
    expect(await cli([...args.slice(0, 2), ...options, ...args.slice(2)])).toMatchObject({
      code: 0,
      stdout: 'ran\n',
    });
    const env = { REDIS_URL: urls().join(',') };
    expect(await cli(args, { env })).toMatchObject({ code: 0, stdout: 'ran\n' });
  });

  it('of which two are down lead to 69', async () => {
    await quorum[1]?.stop();
    await using program = new Cli(['run', 'k', '--durable', '--', 'echo', 'ran'], {
      env: { REDIS_URL: urls().join(' ') },
    });
    expect(await program.exited).toMatchObject({ code: 69 });
    expect(program.stdout).toBe('');
  });
});
