/** `holdfast run`: signals, the loss of the lock, killed guards, a terminal. */
import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Holdfast } from 'holdfast';
import { startProxy, until } from 'holdfast-testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { alive, childrenOf, type Cli, type CliOptions, MAIN } from '../cli.js';
import { LOOP, pidOf, QUICK, ServerAndLocks } from '../server-and-locks.js';

let all: ServerAndLocks;
let holdfast: Holdfast;
beforeAll(async () => {
  all = await ServerAndLocks.start();
  ({ holdfast } = all);
});
afterAll(() => all.stop());

const TRAPS = 'for s in TERM INT HUP QUIT USR1 USR2; do trap "echo got $s" $s; done; ';

function start(key: string, args: readonly string[], text: string, options?: CliOptions): Cli {
  return all.run(key, args, text, options);
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
    await until(async () => (await holdfast.inspect('queue'))?.waiterCount === 1, {
      within: 20_000,
    });
    program.kill('SIGINT');
    expect(await program.exited).toEqual({ code: 130, signal: null });
    expect(await holdfast.inspect('queue')).toMatchObject({ waiterCount: 0 });
    expect(program.stdout).toBe('');
    await lease.release();
  });

  it('between the grant and the command leads to its code, and nothing is run', async () => {
    await using proxy = await startProxy(all.server);
    const lease = await holdfast.mutex('granted').acquire();
    const env = { REDIS_URL: proxy.url };
    await using program = start('granted', [...QUICK, '--ttl', '4s'], 'echo ran', { env });
    await until(async () => (await holdfast.inspect('granted'))?.waiterCount === 1, {
      within: 20_000,
    });
    // a lease that a message grants is renewed before the command starts
    proxy.holdRequests();
    await lease.release();
    await until(async () => (await holdfast.inspect('granted'))?.waiterCount === 0, {
      within: 20_000,
    });
    program.kill('SIGTERM');
    expect(await program.exited).toEqual({ code: 143, signal: null });
    expect(program.stdout).toBe('');
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
    expect((await holdfast.forceRelease('forced', { reason: 'stuck since 2' })).ended).toBe(1);
    expect(await program.exited).toEqual({ code: 70, signal: null });
    expect(program.stdout).toContain('term');
    expect(program.stderr).toMatch(/stuck since 2.*; ending the command with SIGTERM/);
    expect(program.stderr).toMatch(/the lock was broken.*\n.*holdfast inspect/);
  });

  it('the message about it leaves the pipes of the command blocking', async () => {
    // late, so that the message has been written
    const flags = 'trap "sleep 0.5; cat /proc/self/fdinfo/1 /proc/self/fdinfo/2; exit" TERM; ';
    await using program = start('pipes', [], flags + LOOP);
    await pidOf(program);
    await holdfast.forceRelease('pipes');
    await program.exited;
    expect(program.stderr).toContain('the lock was broken');
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
});

describe('a process of the command in another group or session', () => {
  it.each([
    ['timeout', `timeout 600 sh -c '${LOOP}' & wait`],
    ['setsid', `setsid -w sh -c '${LOOP}' & wait`],
    ['timeout in setsid', `setsid -w timeout 600 sh -c '${LOOP}' & wait`],
    ['job control', `set -m; sh -c '${LOOP}' & wait`],
  ])('is ended when the lock is lost: %s', async (key, text) => {
    await using program = start(key, QUICK, text);
    const pid = await pidOf(program);
    await holdfast.forceRelease(key);
    expect(await program.exited).toEqual({ code: 70, signal: null });
    expect(alive(pid)).toBe(false);
  });

  it('is ended when holdfast is killed', async () => {
    await using program = start('orphan', QUICK, `timeout 600 sh -c '${LOOP}' & wait`);
    const pid = await pidOf(program);
    program.kill('SIGKILL');
    await until(() => !alive(pid));
  });

  it('is ended when the command has ended, before the lock is free', async () => {
    await using program = start('left', QUICK, `timeout 600 sh -c '${LOOP}' & sleep 0.3`);
    const pid = await pidOf(program);
    expect(await program.exited).toEqual({ code: 0, signal: null });
    expect(alive(pid)).toBe(false);
  });
});

/** A user who may run Node and the program, but may not end the processes of root. */
const OTHER_USER = ['setpriv', '--reuid', '65534', '--clear-groups'];
const runsAsOtherUser = (): boolean =>
  process.getuid?.() === 0 &&
  spawnSync('setpriv', [...OTHER_USER.slice(1), process.execPath, MAIN, '--version']).status === 0;

describe.runIf(runsAsOtherUser())('a process of another user', () => {
  let folder: string;
  beforeAll(() => {
    // as `sudo` does: a program of root that changes the real user too
    folder = mkdtempSync(join(tmpdir(), 'holdfast-setuid-'));
    chmodSync(folder, 0o755);
    copyFileSync('/usr/bin/setpriv', join(folder, 'as-root'));
    chmodSync(join(folder, 'as-root'), 0o4755);
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  const rooted = (): string => `${folder}/as-root --reuid 0 sh -c '${LOOP}'`;

  it('keeps the lock while it lives, and holdfast names it', async () => {
    await using program = start('other-user', QUICK, `${rooted()} & sleep 0.3; exit 5`, {
      prefix: OTHER_USER,
    });
    const pid = await pidOf(program);
    await until(() => program.stderr.includes('the lock is kept'));
    expect(program.stderr).toContain(`may not end these processes of the command: ${pid} (sh)`);
    expect(await holdfast.inspect('other-user')).toMatchObject({ holderCount: 1 });
    process.kill(pid, 'SIGKILL');
    expect(await program.exited).toEqual({ code: 5, signal: null });
    expect(await holdfast.inspect('other-user')).toBeNull();
  });

  it('is named when the lock is lost, and holdfast waits for its end', async () => {
    await using program = start('other-lost', QUICK, `exec ${rooted()}`, { prefix: OTHER_USER });
    const pid = await pidOf(program);
    await holdfast.forceRelease('other-lost');
    await until(() => program.stderr.includes('they may work beside the next holder'));
    process.kill(pid, 'SIGKILL');
    expect(await program.exited).toEqual({ code: 70, signal: null });
  });
});

describe('other ends', () => {
  it('a stopped guard is continued, and ends the command when the lock is lost', async () => {
    await using program = start('guard-stopped', QUICK, `trap "" TERM; ${LOOP}`);
    const pid = await pidOf(program);
    process.kill(childrenOf(program.pid)[0] as number, 'SIGSTOP');
    await holdfast.forceRelease('guard-stopped');
    expect(await program.exited).toEqual({ code: 70, signal: null });
    expect(alive(pid)).toBe(false);
  });

  it('a killed guard ends the command: 71', async () => {
    await using program = start('guard', ['--verbose'], LOOP);
    const pid = await pidOf(program);
    // until then `holdfast` does not know the process
    await until(() => program.stderr.includes(`started the command as process ${pid}`));
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
