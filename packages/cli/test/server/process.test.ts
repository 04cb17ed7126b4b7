/** `holdfast run`: signals, the loss of the lock, killed and stopped processes, a terminal. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Holdfast } from 'holdfast';
import { type Server, startProxy, startServer, until } from 'holdfast-testkit';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { alive, childrenOf, Cli, type CliOptions, MAIN } from '../cli.js';

let server: Server;
let client: Redis;
let holdfast: Holdfast;
let folder: string;
beforeAll(async () => {
  server = await startServer({ server: 'redis' });
  client = new Redis(server.url);
  holdfast = new Holdfast(client);
  folder = mkdtempSync(join(tmpdir(), 'holdfast-cli-'));
});
afterAll(async () => {
  await holdfast.close();
  client.disconnect();
  await server.stop();
  rmSync(folder, { recursive: true });
});

const QUICK = ['--kill-after', '150ms'];
/** The shortest lease into which the time to end a command fits. */
const SHORT = ['--ttl', '4s', ...QUICK];
const TRAPS = 'for s in TERM INT HUP QUIT USR1 USR2; do trap "echo got $s" $s; done; ';
const LOOP = 'echo pid $$; while :; do sleep 0.02; done';

function start(key: string, args: readonly string[], text: string, options?: CliOptions): Cli {
  const env = { REDIS_URL: server.url, ...options?.env };
  return new Cli(['run', key, ...args, '--', 'sh', '-c', text], { ...options, env });
}

/** The process id that the command printed. */
async function pidOf(program: Cli): Promise<number> {
  return Number((await program.shows(/pid (\d+)\n/))[1]);
}

/** A command that ignores SIGTERM and writes the time to a file, until it is killed. */
function beating(key: string): { text: string; last: () => number } {
  const file = join(folder, `${key}.txt`);
  const loop = `while :; do date +%s%N >> ${file}; sleep 0.02; done`;
  // without the pipes, so the test sees the end of `holdfast` also if the command goes on
  const text = `trap : TERM; echo pid $$; exec > ${file}.log 2>&1; ${loop}`;
  return { text, last: () => Number(readFileSync(file, 'utf8').trim().split('\n').at(-1)) };
}

/** Waits for the lock, and tells when the next holder's command started. */
async function nextHolder(key: string): Promise<number> {
  await using next = start(key, ['--fair'], 'date +%s%N');
  expect(await next.exited).toEqual({ code: 0, signal: null });
  return Number(next.stdout);
}

describe('a signal', () => {
  it.each(['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'] as const)(
    '%s goes to the command, which decides',
    async (name) => {
      await using program = start(name, QUICK, TRAPS + LOOP);
      await pidOf(program);
      program.kill(name);
      await program.shows(new RegExp(`got ${name.slice(3)}\n`));
      expect(await holdfast.inspect(name)).not.toBeNull();
    },
  );

  it('that ends the command leads to 128 and its number, and frees the lock', async () => {
    await using program = start('ends', [], LOOP);
    const pid = await pidOf(program);
    program.kill('SIGTERM');
    expect(await program.exited).toEqual({ code: 143, signal: null });
    expect(alive(pid)).toBe(false);
    expect(await holdfast.inspect('ends')).toBeNull();
  });

  it('reaches the whole process group of the command', async () => {
    await using program = start('group', [], `sh -c '${LOOP}' & wait`);
    const pid = await pidOf(program);
    program.kill('SIGINT');
    await program.exited;
    expect(alive(pid)).toBe(false);
  });

  it('ends a wait: 130 for Ctrl-C, and nothing was run', async () => {
    const lease = await holdfast.mutex('queue').acquire();
    await using program = start('queue', [], 'echo ran');
    await until(async () => (await holdfast.inspect('queue'))?.waiterCount === 1);
    program.kill('SIGINT');
    expect(await program.exited).toEqual({ code: 130, signal: null });
    expect(await holdfast.inspect('queue')).toMatchObject({ waiterCount: 0 });
    expect(program.stdout).toBe('');
    await lease.release();
  });

  it('of Ctrl-Z does not stop holdfast', async () => {
    await using program = start('suspend', QUICK, TRAPS + LOOP);
    await pidOf(program);
    program.kill('SIGTSTP');
    program.kill('SIGUSR1');
    await program.shows(/got USR1/);
  });
});

describe('when the lock is lost', () => {
  it('by force, the command gets SIGTERM, and the exit code is 70', async () => {
    await using program = start('forced', [], `trap "echo term; exit 0" TERM; ${LOOP}`);
    await pidOf(program);
    expect(await holdfast.forceRelease('forced', { reason: 'stuck since 2' })).toBe(1);
    expect(await program.exited).toEqual({ code: 70, signal: null });
    expect(program.stdout).toContain('term');
    expect(program.stderr).toMatch(/stuck since 2.*; ending the command with SIGTERM/);
  });

  it('the message about it leaves the pipes of the command blocking', async () => {
    // late, so that the message has been written
    const flags = 'trap "sleep 0.5; cat /proc/self/fdinfo/1 /proc/self/fdinfo/2; exit" TERM; ';
    await using program = start('pipes', [], flags + LOOP);
    await pidOf(program);
    await holdfast.forceRelease('pipes');
    await program.exited;
    expect(program.stderr).toContain('the lock was lost');
    // the flags are octal, and 4000 is O_NONBLOCK
    const found = [...program.stdout.matchAll(/flags:\s+(\d+)/g)].map(([, octal]) => octal);
    expect(found).toHaveLength(2);
    for (const octal of found) expect(Number(`0o${octal}`) & 0o4000).toBe(0);
  });

  it('a command that ignores SIGTERM is killed', async () => {
    await using program = start('ignores', ['--kill-after', '300ms'], `trap "" TERM; ${LOOP}`);
    const pid = await pidOf(program);
    await holdfast.forceRelease('ignores');
    expect(await program.exited).toEqual({ code: 70, signal: null });
    expect(alive(pid)).toBe(false);
    expect(program.stderr).toContain('so the command was killed');
  });

  it('a stopped command is ended', async () => {
    await using program = start('stopped', [], LOOP);
    const pid = await pidOf(program);
    process.kill(pid, 'SIGSTOP');
    await holdfast.forceRelease('stopped');
    expect(await program.exited).toEqual({ code: 70, signal: null });
    expect(alive(pid)).toBe(false);
    expect(program.stderr).toContain('so the command was ended');
  });

  it('because the server is cut off, it is gone before the next holder starts', async () => {
    await using proxy = await startProxy(server);
    const { last, text } = beating('cut');
    await using program = start('cut', SHORT, text, { env: { REDIS_URL: proxy.url } });
    await pidOf(program);
    proxy.blackhole();
    const next = await nextHolder('cut');
    expect(last()).toBeLessThan(next);
    expect(await program.exited).toEqual({ code: 70, signal: null });
    expect(program.stderr).toContain('the lock was about to end and could not be renewed;');
  });
});

describe('the command is gone before the next holder starts', () => {
  it('if holdfast is killed', async () => {
    const { last, text } = beating('killed');
    await using program = start('killed', SHORT, text);
    const pid = await pidOf(program);
    program.kill('SIGKILL');
    const next = await nextHolder('killed');
    expect(last()).toBeLessThan(next);
    expect(alive(pid)).toBe(false);
  });

  it('if holdfast is stopped, and holdfast says so when it continues', async () => {
    const { last, text } = beating('frozen');
    await using program = start('frozen', SHORT, text);
    const pid = await pidOf(program);
    program.kill('SIGSTOP');
    const next = await nextHolder('frozen');
    expect(last()).toBeLessThan(next);
    expect(alive(pid)).toBe(false);
    program.kill('SIGCONT');
    expect(await program.exited).toEqual({ code: 70, signal: null });
  });

  it('if a holdfast that runs a holdfast is killed', async () => {
    const { last, text } = beating('nested');
    const nested = `exec "$NODE" "$MAIN" run inner -- sh -c '${text}'`;
    const env = { NODE: process.execPath, MAIN };
    await using program = start('nested', SHORT, nested, { env });
    const pid = await pidOf(program);
    program.kill('SIGKILL');
    const next = await nextHolder('nested');
    expect(last()).toBeLessThan(next);
    expect(alive(pid)).toBe(false);
  });

  it('if the guard is stopped and the lock is lost', async () => {
    const { text } = beating('guard-stopped');
    await using program = start('guard-stopped', SHORT, text);
    const pid = await pidOf(program);
    process.kill(childrenOf(program.pid)[0] as number, 'SIGSTOP');
    await holdfast.forceRelease('guard-stopped');
    expect(await program.exited).toMatchObject({ code: 71 });
    expect(alive(pid)).toBe(false);
  });
});

// The control of the tests above: the times in the file do tell when the command outlives the lock.
it('a process in a session of its own overlaps with the next holder', async () => {
  const { last, text } = beating('escapes');
  await using program = start('escapes', [], `setsid sh -c '${text}'; true`);
  const pid = await pidOf(program);
  await holdfast.forceRelease('escapes');
  expect(await program.exited).toEqual({ code: 70, signal: null });
  const next = await nextHolder('escapes');
  await until(() => last() > next);
  process.kill(-pid, 'SIGKILL');
});

describe('other ends', () => {
  it('a command that runs for longer than the ttl is not disturbed', async () => {
    const text = 'trap "echo disturbed" TERM; sleep 5 & wait; echo done';
    await using program = start('renewed', SHORT, text);
    expect(await program.exited).toEqual({ code: 0, signal: null });
    expect(program).toMatchObject({ stdout: 'done\n', stderr: '' });
  });

  it('a killed guard ends the command: 71', async () => {
    await using program = start('guard', [], LOOP);
    const pid = await pidOf(program);
    process.kill(childrenOf(program.pid)[0] as number, 'SIGKILL');
    expect(await program.exited).toEqual({ code: 71, signal: null });
    await until(() => !alive(pid));
    expect(await holdfast.inspect('guard')).toBeNull();
  });

  it('the guard outlives SIGTERM to all processes of a service', async () => {
    await using program = start('service', QUICK, TRAPS + LOOP);
    await pidOf(program);
    const guard = childrenOf(program.pid)[0] as number;
    process.kill(guard, 'SIGTERM');
    program.kill('SIGTERM');
    await program.shows(/got TERM/);
    expect(alive(guard)).toBe(true);
  });

  it('processes that the command leaves behind end before the lock is free', async () => {
    const left = `sh -c 'trap "" TERM; ${LOOP}' & sleep 0.3`;
    await using program = start('leaves', QUICK, left);
    const pid = await pidOf(program);
    expect(await program.exited).toEqual({ code: 0, signal: null });
    expect(alive(pid)).toBe(false);
  });
});

describe('as the first process of a container', () => {
  const prefix = ['unshare', '--user', '--map-root-user', '--pid', '--fork', '--mount-proc'];

  it('it passes signals and the exit code', async () => {
    await using program = start('pid-1', [], `echo parent $(cat /proc/1/comm); ${LOOP}`, {
      prefix,
    });
    await pidOf(program);
    const [unshared] = childrenOf(program.pid);
    process.kill(unshared as number, 'SIGTERM');
    expect(await program.exited).toEqual({ code: 143, signal: null });
    expect(program.stdout).toMatch(/parent (node|MainThread)/);
  });
});

describe('on a terminal', () => {
  const terminal = (key: string, text: string): Cli => start(key, [], text, { terminal: true });

  it('the command reads the keyboard', async () => {
    await using program = terminal('keyboard', 'tty; read line; echo read $line');
    await program.shows(/\/dev\/pts/);
    program.type('hello\r');
    await program.shows(/read hello/);
    expect(await program.exited).toEqual({ code: 0, signal: null });
  });

  it('Ctrl-C goes to the command once', async () => {
    await using program = terminal(
      'ctrl-c',
      'trap "echo interrupted" INT; echo up; sleep 1; exit 5',
    );
    await program.shows(/up/);
    program.type('\u0003');
    await program.shows(/interrupted/);
    expect(await program.exited).toEqual({ code: 5, signal: null });
    expect(program.stdout.match(/interrupted/g)).toHaveLength(1);
  });
});
