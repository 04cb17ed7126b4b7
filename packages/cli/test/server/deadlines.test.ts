/** `holdfast run`: the command ends before its lease, whatever happens to `holdfast`. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { paced, startProxy, until } from 'holdfast-testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { alive, MAIN } from '../cli.js';
import { pidOf, QUICK, ServerAndLocks } from '../server-and-locks.js';

let all: ServerAndLocks;
let folder: string;
beforeAll(async () => {
  all = await ServerAndLocks.start();
  folder = mkdtempSync(join(tmpdir(), 'holdfast-cli-'));
});
afterAll(async () => {
  await all.stop();
  rmSync(folder, { recursive: true });
});

/** The shortest lease into which the time to end a command fits. */
const SHORT = ['--ttl', '4s', ...QUICK];

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
  await using next = all.run(key, ['--fair'], 'date +%s%N');
  expect(await next.exited).toEqual({ code: 0, signal: null });
  return Number(next.stdout);
}

// each case has its own key, and waits for the end of a lease
describe.concurrent('the command is gone before the next holder starts', () => {
  it('if the server is cut off', async () => {
    await using proxy = await startProxy(all.server);
    const { last, text } = beating('cut');
    await using program = all.run('cut', SHORT, text, { env: { REDIS_URL: proxy.url } });
    await pidOf(program);
    proxy.blackhole();
    const next = await nextHolder('cut');
    expect(last()).toBeLessThan(next);
    expect(await program.exited).toEqual({ code: 70, signal: null });
    expect(program.stderr).toContain('the lock was about to end and could not be renewed;');
  });

  it('if holdfast is killed', async () => {
    const { last, text } = beating('killed');
    await using program = all.run('killed', SHORT, text);
    const pid = await pidOf(program);
    program.kill('SIGKILL');
    const next = await nextHolder('killed');
    expect(last()).toBeLessThan(next);
    expect(alive(pid)).toBe(false);
  });

  it('if holdfast is stopped, and holdfast says so when it continues', async () => {
    const { last, text } = beating('frozen');
    await using program = all.run('frozen', SHORT, text);
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
    await using program = all.run('nested', SHORT, nested, { env });
    const pid = await pidOf(program);
    program.kill('SIGKILL');
    const next = await nextHolder('nested');
    expect(last()).toBeLessThan(next);
    expect(alive(pid)).toBe(false);
  });
});

// The control of the tests above: the times in the file do tell when the command outlives the lock.
it.concurrent('a daemon overlaps with the next holder', async () => {
  const { last, text } = beating('escapes');
  await using program = all.run('escapes', [], `(setsid sh -c '${text}' &); sleep 600`);
  const pid = await pidOf(program);
  await all.holdfast.forceRelease('escapes');
  expect(await program.exited).toEqual({ code: 70, signal: null });
  const next = await nextHolder('escapes');
  await until(() => last() > next);
  process.kill(-pid, 'SIGKILL');
});

it.concurrent('a wait goes on while the server is away', { timeout: paced(60_000) }, async () => {
  await using proxy = await startProxy(all.server);
  const lease = await all.holdfast.mutex('away').acquire();
  const env = { REDIS_URL: proxy.url };
  await using program = all.run('away', ['--wait', '5m', ...QUICK], 'echo ran', { env });
  await until(async () => (await all.holdfast.inspect('away'))?.waiterCount === 1, {
    within: 20_000,
  });
  proxy.refuse();
  proxy.cut();
  await until(() => program.stderr.includes('still waiting for away'), { within: 28_000 });
  proxy.heal();
  await lease.release();
  expect(await program.exited).toEqual({ code: 0, signal: null });
  expect(program.stdout).toBe('ran\n');
});

it.concurrent('the time of --kill-after counts from the first SIGTERM', async () => {
  const { last, text } = beating('once');
  // its first process ends 4 s after SIGTERM, the other one never
  const slow = `trap 'date +%s%N; sleep 4; exit 0' TERM; while :; do sleep 0.02; done`;
  const command = `(${text.replace('trap :', 'trap ""')}) & ${slow}`;
  await using program = all.run('once', ['--kill-after', '5s'], command);
  await pidOf(program);
  await all.holdfast.forceRelease('once');
  expect(await program.exited).toEqual({ code: 70, signal: null });
  const ended = Number(/^\d{15,}$/m.exec(program.stdout)?.[0]);
  expect((last() - ended) / 1e6).toBeGreaterThan(3000);
  expect((last() - ended) / 1e6).toBeLessThan(paced(7500));
});

it.concurrent('a command that runs for longer than the ttl is not disturbed', async () => {
  const text = 'trap "echo disturbed" TERM; sleep 5 & wait; echo done';
  await using program = all.run('renewed', SHORT, text);
  expect(await program.exited).toEqual({ code: 0, signal: null });
  expect(program).toMatchObject({ stdout: 'done\n', stderr: '' });
});
