/** `holdfast run`: the lock, the command's environment, and exit codes. */
import { Holdfast } from 'holdfast';
import { type Server, startProxy, startServer, until } from 'holdfast-testkit';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Cli, cli } from '../cli.js';

let server: Server;
let client: Redis;
let holdfast: Holdfast;
let env: Record<string, string>;
beforeAll(async () => {
  server = await startServer({ server: 'redis' });
  env = { REDIS_URL: server.url };
  client = new Redis(server.url);
  holdfast = new Holdfast(client);
});
afterAll(async () => {
  await holdfast.close();
  client.disconnect();
  await server.stop();
});

const run = (...args: string[]): ReturnType<typeof cli> => cli(['run', ...args], { env });
const sh = (text: string): string[] => ['--', 'sh', '-c', text];

describe('the command', () => {
  it.each([
    ['exit 0', 0],
    ['exit 3', 3],
    ['exit 255', 255],
    ['kill -TERM $$', 143],
    ['kill -KILL $$', 137],
  ])('%s leads to the exit code %i', async (text, code) => {
    expect(await run('codes', ...sh(text))).toMatchObject({ code, stderr: '' });
  });

  it('sees the key, the fence and the deadline', async () => {
    const before = Date.now();
    const { stdout } = await run('sees', ...sh('env'));
    const seen = Object.fromEntries(stdout.split('\n').map((line) => line.split('=')));
    expect(seen.HOLDFAST_KEY).toBe('sees');
    const lease = await holdfast.mutex('sees').acquire();
    expect(Number(seen.HOLDFAST_FENCE)).toBeGreaterThan(0);
    expect(Number(seen.HOLDFAST_FENCE)).toBeLessThan(lease.fence);
    await lease.release();
    expect(Number(seen.HOLDFAST_DEADLINE)).toBeGreaterThan(before + 20_000);
    expect(Number(seen.HOLDFAST_DEADLINE)).toBeLessThan(Date.now() + 30_000);
  });

  it('has the standard input, output and error of holdfast', async () => {
    await using program = new Cli(['run', 'stdio', ...sh('cat; echo problem >&2')], { env });
    program.type('some text');
    program.endInput();
    expect(await program.exited).toEqual({ code: 0, signal: null });
    expect(program.stdout).toBe('some text');
    expect(program.stderr).toBe('problem\n');
  });

  it('needs no HOME, no TERM, no input and no terminal, as under cron and systemd', async () => {
    const prefix = ['env', '-i', 'PATH=/usr/bin:/bin', `REDIS_URL=${server.url}`];
    const result = await cli(['run', 'cron', ...sh('echo ran; cat; env')], { prefix });
    expect(result).toMatchObject({ code: 0, stderr: '' });
    expect(result.stdout).toMatch(/^ran\n/);
    expect(result.stdout).not.toMatch(/^(HOME|TERM|SHELL|USER)=/m);
    const list = await cli(['ls', 'no such lock'], { prefix });
    expect(list).toMatchObject({ code: 0, stderr: '' });
  });

  it('gets its options, also those that holdfast has', async () => {
    const words = ['--wait', '--json', '--', '-x'];
    const { stdout } = await run('options', '--json', '--', 'printf', '%s ', ...words);
    expect(stdout).toBe('--wait --json -- -x ');
  });

  it('gets the options for Node, and the guard does not', async () => {
    const options = { env: { ...env, NODE_OPTIONS: '--max-old-space-size=77' } };
    const { stdout } = await cli(['run', 'node', ...sh('env; ps -o args= -p $PPID')], options);
    expect(stdout).toContain('NODE_OPTIONS=--max-old-space-size=77\n');
    expect(stdout).not.toContain('HOLDFAST_NODE_OPTIONS');
  });

  it('is not found: 127; is not executable: 126', async () => {
    const missing = await run('missing', '--', 'no-such-command');
    expect(missing).toMatchObject({ code: 127 });
    expect(missing.stderr).toContain('no-such-command: command not found');
    expect(await run('missing', '--', '/etc/passwd')).toMatchObject({ code: 126 });
    const inFile = await run('missing', '--', '/etc/passwd/command');
    expect(inFile).toMatchObject({ code: 126, stdout: '' });
    expect(inFile.stderr).toBe('holdfast: /etc/passwd/command cannot be executed: ENOTDIR\n');
    expect(await holdfast.inspect('missing')).toBeNull();
  });
});

describe('the lock', () => {
  it('is held while the command runs, shows its name, and is free after it', async () => {
    await using program = new Cli(['run', 'held', ...sh('echo up; cat')], { env });
    await program.shows(/up/);
    const info = await holdfast.inspect('held');
    expect(info?.holders[0]).toMatchObject({ label: 'sh', pid: program.pid });
    program.endInput();
    expect(await program.exited).toEqual({ code: 0, signal: null });
    expect(await holdfast.inspect('held')).toBeNull();
  });

  it('is waited for without a limit', async () => {
    const lease = await holdfast.mutex('waits').acquire();
    await using program = new Cli(['run', 'waits', '--json', '--', 'echo', 'done'], { env });
    await until(async () => (await holdfast.inspect('waits'))?.waiterCount === 1, {
      within: 20_000,
    });
    await until(() => program.stderr.includes('"waiting"'));
    expect(program.stdout).toBe('');
    await lease.release();
    expect(await program.exited).toEqual({ code: 0, signal: null });
    expect(program.stdout).toBe('done\n');
    const events = program.stderr
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).event);
    expect(events).toEqual(['waiting', 'acquired', 'started', 'ended', 'released']);
  });

  it.each([
    [['--no-wait'], 75],
    [['-n', '-E', '9'], 9],
    [['--wait', '100ms'], 75],
    [['--wait', '0', '-E', '0'], 0],
  ])('that is not free, with %s, leads to %i', async (options, code) => {
    const lease = await holdfast.mutex('busy').acquire();
    const result = await run('busy', ...options, ...sh('echo ran'));
    expect(result).toMatchObject({ code, stdout: '' });
    if (code === 0) expect(result.stderr).toBe('');
    else expect(result.stderr).toMatch(/the lock busy is not free|held by .*process/);
    expect(await holdfast.inspect('busy')).toMatchObject({ waiterCount: 0 });
    await lease.release();
  });

  it('is waited for again if its grant cannot be confirmed', async () => {
    await using proxy = await startProxy(server);
    const lease = await holdfast.mutex('confirmed').acquire();
    const args = ['run', 'confirmed', '--wait', '1m', '--', 'echo', 'ran'];
    await using program = new Cli(args, { env: { REDIS_URL: proxy.url } });
    await until(async () => (await holdfast.inspect('confirmed'))?.waiterCount === 1, {
      within: 20_000,
    });
    // the message with the grant arrives, and no request of the program
    proxy.blackhole('requests');
    await lease.release();
    await until(() => program.stderr.includes('; waiting for confirmed again'), { within: 20_000 });
    expect(program.stderr).toMatch(/was granted and not confirmed \(.+\); nothing was run/);
    expect(program.stdout).toBe('');
    proxy.heal();
    expect(await program.exited).toEqual({ code: 0, signal: null });
    expect(program.stdout).toBe('ran\n');
  });

  it('is shared by readers, and excludes the writer', async () => {
    const lease = await holdfast.rwLock('files').read.acquire();
    const side = (...options: string[]): ReturnType<typeof cli> =>
      run('files', '-n', ...options, ...sh('exit 7'));
    expect(await side('--shared')).toMatchObject({ code: 7 });
    expect(await side('--exclusive')).toMatchObject({ code: 75 });
    await lease.release();
    expect(await side('--exclusive')).toMatchObject({ code: 7 });
  });

  it('takes some of the permits, and reports another total', async () => {
    const lease = await holdfast.semaphore('gpu', { permits: 8 }).acquire(6);
    expect(await run('gpu', '-n', '--permits', '2/8', ...sh('exit 7'))).toMatchObject({ code: 7 });
    expect(await run('gpu', '-n', '--permits', '3/8', ...sh(''))).toMatchObject({ code: 75 });
    const other = await run('gpu', '-n', '--permits', '2/9', ...sh(''));
    expect(other).toMatchObject({ code: 64 });
    expect(other.stderr).toContain('with the same --permits, for each use of a key');
    await lease.release();
  });

  it('ends with the command after --max-hold', async () => {
    const options = ['--ttl', '4s', '--max-hold', '4s', '--kill-after', '100ms'];
    const result = await run('long', ...options, ...sh('sleep 60'));
    expect(result).toMatchObject({ code: 70 });
    expect(result.stderr).toContain('the time of --max-hold was almost over, so the command was');
    expect(result.stderr).not.toContain('renewed');
  });
});

describe('wrong use leads to 64 and names what to do', () => {
  it.each([
    [['run'], /missing required argument 'key'/],
    [['run', 'k'], /there is no command to run\n {2}to do: holdfast run KEY -- command/],
    [['run', 'k', '--'], /there is no command to run/],
    [['run', 'k', 'ls'], /too many arguments.*\n.*holdfast run KEY -- command/],
    [['run', 'k', 'ls', '--', 'ls'], /too many arguments/],
    [['run', 'k', '--wait', '5', '--', 'ls'], /Write a time with its unit: 500ms/],
    [['run', 'k', '--permits', '9/8', '--', 'ls'], /Write 2\/8 for two of eight/],
    [['run', 'k', '-s', '-x', '--', 'ls'], /cannot be used with/],
    [
      ['run', 'k', '--no-wait', '--wait', '5s', '--', 'ls'],
      /--no-wait.* cannot be used with .*--wait/,
    ],
    [['run', 'k', '-w', '5s', '-n', '--', 'ls'], /--no-wait.* cannot be used with .*--wait/],
    [['run', 'k', '--max-hold', '1s', '--', 'ls'], /--max-hold 1s is too short.*\n.*--max-hold 4s/],
    [['once', 'k', '--at-least', '1s', '--at-most', '2s', '--', 'ls'], /--at-most 2s is too short/],
    [['once', 'k', '--at-least', '2h', '--', 'ls'], /use --at-most 2h or more/],
    [
      ['once', 'k', '--at-least', '5m', '--at-most', '1m', '--', 'ls'],
      /--at-most 1m is shorter than --at-least 5m/,
    ],
    [['run', 'k', '-E', '256', '--', 'ls'], /from 0 to 255/],
    [['run', 'k', '--ttl', '1s', '--', 'ls'], /--ttl 1s is too short/],
    [
      ['run', 'k', '--kill-after', '20s', '--', 'ls'],
      /use --kill-after 8.9s or less, or --ttl 58s/,
    ],
    [['run', '', '--', 'ls'], /option "key" must be/],
    [['run', 'k', '--wiat', '5s', '--', 'ls'], /unknown option '--wiat' .*--wait/],
    [['run', 'k', '--url', 'http://a:p4ss@b', '--', 'ls'], /unknown URL scheme http:/],
    [['run', 'k', '--url', 'redis://a:p4ss@b:x', '--', 'ls'], /to do: write redis:/],
    [['run', 'k', '--durable', '--', 'ls'], /--durable and --restart-guard/],
    [['run', 'k', '--url', 'redis://a', '--url', 'redis://b', '--', 'ls'], /an odd number/],
    [['rum', 'k'], /unknown command 'rum'.*run/],
  ])('%s', async (args, message) => {
    const result = await cli(args, { env });
    expect(result).toMatchObject({ code: 64, stdout: '' });
    expect(result.stderr).toMatch(message);
    expect(result.stderr).not.toContain('p4ss');
  });

  it.each([
    ['run', '', '--', 'ls'],
    ['run', 'k'.repeat(1025), '-s', '--', 'ls'],
    ['run', '', '--permits', '1/2', '--', 'ls'],
    ['once', '', '--at-least', '1s', '--at-most', '1m', '--', 'ls'],
    ['run', 'k', '--wait', '999999999d', '--', 'ls'],
    ['lead', '', '--', 'ls'],
  ])('without a server too: %s %s', async (...args) => {
    const nowhere = { ...env, REDIS_URL: 'redis://127.0.0.1:1' };
    expect(await cli(args, { env: nowhere })).toMatchObject({ code: 64, stdout: '' });
  });

  it('on Windows', async () => {
    const code = "Object.defineProperty(process, 'platform', { value: 'win32' })";
    const options = `--import=data:text/javascript,${encodeURIComponent(code)}`;
    const result = await cli(['run', 'k', '--', 'ls'], { env: { ...env, NODE_OPTIONS: options } });
    expect(result).toMatchObject({ code: 64, stdout: '' });
    expect(result.stderr).toContain('to do: use the Linux subsystem');
  });

  it('as JSON', async () => {
    const { stderr } = await cli(['run', 'k', '--json', '--wait', 'x', '--', 'ls'], { env });
    expect(JSON.parse(stderr)).toMatchObject({ event: 'error', exitCode: 64 });
  });

  it('help shows examples and exits with 0', async () => {
    const { code, stdout } = await cli(['run', '--help'], { env });
    expect(code).toBe(0);
    expect(stdout).toContain('Examples:\n  holdfast run backup -- pg_dump');
  });
});
