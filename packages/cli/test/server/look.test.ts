/** The commands that look at locks: on a pipe, as JSON and on a terminal. */
import { Holdfast } from 'holdfast';
import { freePorts, type Server, startServer, until } from 'holdfast-testkit';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Cli, cli } from '../cli.js';

let server: Server;
let client: Redis;
let holdfast: Holdfast;
let env: Record<string, string>;
const SIZE = 'stty cols 100 rows 24; ';
const COLOUR = '\u001b[';

beforeAll(async () => {
  server = await startServer({ server: 'redis' });
  env = { REDIS_URL: server.url };
  client = new Redis(server.url);
  holdfast = new Holdfast(client, { label: 'report.sh' });
  const fair = holdfast.mutex('a:1', { fair: true });
  await fair.acquire();
  await holdfast.rwLock('a:2').read.acquire();
  await holdfast.semaphore('b:1', { permits: 8 }).acquire(3);
  void fair.acquire().catch(() => undefined);
  await until(async () => (await holdfast.inspect('a:1'))?.waiterCount === 1, { within: 20_000 });
});
afterAll(async () => {
  await holdfast.close({ grace: 0 });
  client.disconnect();
  await server.stop();
});

const holdfastCli = (...args: string[]): ReturnType<typeof cli> => cli(args, { env });

describe('ls', () => {
  it('is a table without colours on a pipe', async () => {
    const { code, stderr, stdout } = await holdfastCli('ls');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const lines = stdout.trim().split('\n');
    expect(lines).toHaveLength(4);
    expect(lines[0]).toMatch(/^KEY +STATE +HOLDER +HELD +LEFT +WAITING$/);
    expect(lines[1]).toMatch(/^a:1 +held +report.sh .+:\d+ +\S+ +\S+ +1$/);
    expect(lines[2]).toMatch(/^a:2 +1 reader /);
    expect(lines[3]).toMatch(/^b:1 +3 of 8 /);
    expect(stdout).not.toContain(COLOUR);
    // as set by services that run tests
    const inTests = await cli(['ls'], { env: { ...env, CI: 'true' } });
    expect(inTests.stdout).not.toContain(COLOUR);
  });

  it('has colours on a terminal, unless NO_COLOR is set', async () => {
    await using coloured = new Cli(['ls'], { env, terminal: true });
    await coloured.exited;
    expect(coloured.stdout).toContain(COLOUR);
    await using plain = new Cli(['ls'], { env: { ...env, NO_COLOR: '1' }, terminal: true });
    await plain.exited;
    expect(plain.stdout).toContain('a:1');
    expect(plain.stdout).not.toContain(COLOUR);
  });

  it('selects keys by a pattern', async () => {
    const { stdout } = await holdfastCli('ls', 'a:*');
    expect(stdout).not.toContain('b:1');
    expect((await holdfastCli('ls', 'x*')).stdout).toBe('no lock is in use\n');
  });

  it('counts with --count', async () => {
    expect(await holdfastCli('ls', '--count')).toMatchObject({ code: 0, stdout: '3\n' });
    expect((await holdfastCli('ls', 'a:*', '--count', '--json')).stdout).toBe('{"count":2}\n');
  });

  it('as JSON has a line for each lock', async () => {
    const { stdout } = await holdfastCli('ls', '--json');
    const locks = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(locks.map(({ key }) => key)).toEqual(['a:1', 'a:2', 'b:1']);
    expect(locks[2]).toMatchObject({ permits: 8, used: 3, waiterCount: 0 });
    expect((await holdfastCli('ls', 'x*', '--json')).stdout).toBe('');
  });

  it('ends quietly with its reader', async () => {
    const prefix = ['sh', '-c', '"$@" | true; echo done', 'sh'];
    await using program = new Cli(['watch', '--every', '10ms'], { env, prefix });
    await program.exited;
    expect(program).toMatchObject({ stdout: 'done\n', stderr: '' });
  });

  it('shows control characters of other programs', async () => {
    const lease = await holdfast.mutex('c:\u001b[2Jx\n').acquire({ label: '\u009b' });
    const { stdout } = await holdfastCli('ls', 'c:*');
    await lease.release();
    expect(stdout).toContain('c:\\x1b[2Jx\\x0a');
    expect(stdout).toContain('\\x9b');
  });

  it('with a server that is down leads to 69', async () => {
    const [port] = await freePorts(1);
    const result = await cli(['ls', '--url', `redis://127.0.0.1:${port}`, '--json']);
    expect(result).toMatchObject({ code: 69, stdout: '' });
    expect(JSON.parse(result.stderr)).toMatchObject({ event: 'error', exitCode: 69 });
  });
});

describe('inspect', () => {
  it('shows the holder and the queue', async () => {
    const { code, stdout } = await holdfastCli('inspect', 'a:1');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^a:1 {2}held, last fence \d+\n\nheld by \(1\):\nNAME +PERMITS/);
    expect(stdout).toMatch(/in the queue \(1\):\nPLACE +NAME/);
  });

  it('as JSON is the object of the library, and null for a free lock', async () => {
    const { stdout } = await holdfastCli('inspect', 'b:1', '--json');
    const lock = await holdfast.inspect('b:1');
    expect(JSON.parse(stdout)).toMatchObject({ key: 'b:1', fence: lock?.fence });
    expect((await holdfastCli('inspect', 'x', '--json')).stdout).toBe('null\n');
    expect((await holdfastCli('inspect', 'x')).stdout).toBe('x is free\n');
  });

  it('takes a key that looks like an option after --', async () => {
    expect((await holdfastCli('inspect', '--', '--json')).stdout).toBe('--json is free\n');
  });
});

describe('watch', () => {
  it('redraws a table on a terminal, and ends with Ctrl-C', async () => {
    const prefix = ['sh', '-c', `${SIZE} exec "$@"`, 'sh'];
    await using program = new Cli(['watch', '--every', '50ms'], { env, prefix, terminal: true });
    await program.shows(/a:1[^\n]*held[\s\S]*GRANTS[\s\S]*b:1[\s\S]*b:1/);
    const lease = await holdfast.mutex('new').acquire();
    await program.shows(/new/);
    await lease.release();
    const next = await holdfast.mutex('new').acquire();
    await program.shows(/new[^\n]* 1\s*\r?\n/);
    await next.release();
    expect(program.stdout).toContain(`${COLOUR}?25l`);
    program.type('\u0003');
    expect(await program.exited).toEqual({ code: 0, signal: null });
    expect(program.stdout.endsWith(`${COLOUR}?25h`)).toBe(true);
  });

  it('prints one table after another on a pipe', async () => {
    const { code, stdout } = await holdfastCli('watch', 'a:*', '--count', '2', '--every', '10ms');
    expect(code).toBe(0);
    expect(stdout.match(/^KEY/gm)).toHaveLength(2);
    expect(stdout).not.toContain('\u001b');
  });

  it('as JSON prints a line for each look', async () => {
    const args = ['watch', '--json', '--count', '2', '--every', '10ms'];
    const { stdout } = await holdfastCli(...args);
    const looks = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(looks).toHaveLength(2);
    expect(looks[1].locks.map(({ key }: { key: string }) => key)).toEqual(['a:1', 'a:2', 'b:1']);
  });

  it('on a terminal, shows that the server does not answer, and goes on', async () => {
    await using other = await startServer({ server: 'redis' });
    const options = { env: { REDIS_URL: other.url }, terminal: true };
    const prefix = ['sh', '-c', `${SIZE} exec "$@"`, 'sh'];
    await using program = new Cli(['watch', '--every', '50ms'], { ...options, prefix });
    await program.shows(/no lock is in use/);
    other.pause();
    await program.shows(/did not answer/);
    const before = program.stdout.length;
    other.resume();
    await until(() => program.stdout.slice(before).includes('no lock is in use'));
  });
});

describe('break', () => {
  it('asks on a terminal; no leaves the lock, yes ends it', async () => {
    const lease = await holdfast.mutex('broken').acquire();
    await using no = new Cli(['break', 'broken'], { env, terminal: true });
    await no.shows(/Break this lock\? \[y\/N\]/);
    expect(no.stdout).toContain('held by (1)');
    no.type('\r');
    expect(await no.exited).toEqual({ code: 75, signal: null });
    expect(lease.held).toBe(true);
    await using yes = new Cli(['break', 'broken'], { env, terminal: true });
    await yes.shows(/Break this lock/);
    yes.type('y\r');
    expect(await yes.exited).toEqual({ code: 0, signal: null });
    expect(yes.stdout).toContain('1 lease of broken ended');
    expect(await holdfast.inspect('broken')).toBeNull();
  });

  it('without a terminal needs --yes', async () => {
    const lease = await holdfast.mutex('broken').acquire();
    const refused = await holdfastCli('break', 'broken');
    expect(refused).toMatchObject({ code: 64, stdout: '' });
    expect(refused.stderr).toContain('to do: add --yes');
    expect(lease.held).toBe(true);
    const done = await holdfastCli('break', 'broken', '--yes', '--json', '--reason', 'stuck');
    expect(JSON.parse(done.stdout)).toEqual({
      ...{ key: 'broken', ended: 1 },
      overlap: expect.any(Number) as number,
    });
    await until(() => lease.signal.aborted, { within: 10_000 });
    expect(String(lease.signal.reason)).toMatch(/stuck.*holdfast-cli/);
    expect((await holdfastCli('break', 'broken', '-y')).stdout).toBe('broken is free\n');
  });

  it('ends the leases that the question showed, and no other one', async () => {
    const shown = await holdfast.mutex('taken-on').acquire();
    await using program = new Cli(['break', 'taken-on'], { env, terminal: true });
    await program.shows(/Break this lock/);
    await shown.release();
    const other = new Holdfast(client);
    const lease = await other.mutex('taken-on').acquire();
    program.type('y\r');
    await program.exited;
    expect(program.stdout).toContain('0 leases of taken-on ended');
    expect(await holdfast.inspect('taken-on')).toMatchObject({ holders: [{ id: lease.id }] });
    await lease.release();
    await other.close();
  });

  it('says how many leases the question did not show', async () => {
    const semaphore = holdfast.semaphore('many', { permits: 103 });
    await Promise.all(Array.from({ length: 103 }, () => semaphore.acquire()));
    await using program = new Cli(['break', 'many'], { env, terminal: true });
    await program.shows(/Break this lock/);
    program.type('y\r');
    expect(await program.exited).toEqual({ code: 0, signal: null });
    expect(program.stdout).toContain('100 leases of many ended');
    expect(program.stdout).toContain('3 more were not shown and are kept; --yes ends all');
    expect(await holdfast.inspect('many')).toMatchObject({ holderCount: 3 });
    expect((await holdfastCli('break', 'many', '--yes')).stdout).toContain(
      '3 leases of many ended',
    );
  });

  it('of an id that the lock does not have leads to 75', async () => {
    const lease = await holdfast.mutex('other-id').acquire();
    const result = await holdfastCli('break', 'other-id', '--yes', '--id', 'unknown');
    expect(result).toMatchObject({ code: 75, stdout: '' });
    expect(lease.held).toBe(true);
    await lease.release();
  });

  it('ends one lease of several', async () => {
    const semaphore = holdfast.semaphore('several', { permits: 2 });
    const [one, two] = [await semaphore.acquire(), await semaphore.acquire()];
    await holdfastCli('break', 'several', '--yes', '--id', one.id);
    const lock = await holdfast.inspect('several');
    expect(lock?.holders.map(({ id }) => id)).toEqual([two.id]);
    await two.release();
  });
});

it('an unknown option is shown without the password in it', async () => {
  const { code, stderr } = await holdfastCli('ls', '--ulr=redis://u:s3cret@h');
  expect(code).toBe(64);
  expect(stderr).toContain("unknown option '--ulr=redis://***@h'");
});

describe('wait', () => {
  it('ends when the lock is free', async () => {
    const lease = await holdfast.mutex('until').acquire();
    await using program = new Cli(['wait', 'until', '--every', '10ms', '--json'], { env });
    await until(async () => String(await client.client('LIST')).includes('name=holdfast-cli'));
    expect(program.stdout).toBe('');
    await lease.release();
    expect(await program.exited).toEqual({ code: 0, signal: null });
    expect(JSON.parse(program.stdout)).toMatchObject({ key: 'until' });
  });

  it('and `watch` pause for longer than a timer can', async () => {
    await using wait = new Cli(['wait', 'a:1', '--every', '30d'], { env });
    await using watch = new Cli(['watch', 'a:1', '--every', '30d', '--json'], { env });
    await watch.shows(/"locks"/);
    await until(async () => {
      return [...String(await client.client('LIST')).matchAll(/name=holdfast-cli/g)].length > 1;
    });
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect([wait.stderr, watch.stderr]).toEqual(['', '']);
    expect(watch.stdout.trim().split('\n')).toHaveLength(1);
  });

  it('leads to 75, or another code, if the lock is not free in time', async () => {
    const result = await holdfastCli('wait', 'a:1', '--wait', '50ms');
    expect(result).toMatchObject({ code: 75, stdout: '' });
    expect(result.stderr).toContain('a:1 was not free in 50ms');
    expect(await holdfastCli('wait', 'a:1', '--wait', '0', '-E', '3')).toMatchObject({ code: 3 });
  });
});
