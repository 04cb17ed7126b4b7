/**
 * Runs the demo as a user starts it. All its checks pass and it exits with 0; with a planted fault
 * a check fails and it exits with 1.
 */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import {
  type Exit,
  paced,
  type Server,
  spawnWorker,
  startServer,
  until,
  type Worker,
} from 'holdfast-testkit';
import { beforeAll, describe, expect, it } from 'vitest';

const MAIN = fileURLToPath(new URL('../../../../examples/dist/demo/main.js', import.meta.url));

interface Run extends Exit {
  output: string;
}

function start(args: string[], fault?: string): Worker {
  const slower = { HOLDFAST_DEMO_SLOWER: `${Math.min(3, paced(1000) / 1000)}` };
  const env = fault === undefined ? slower : { ...slower, HOLDFAST_DEMO_FAULT: fault };
  return spawnWorker(MAIN, { args: ['--quick', ...args], env });
}

async function run(args: string[], fault?: string): Promise<Run> {
  await using demo = start(args, fault);
  const exit = await demo.exited;
  return { ...exit, output: demo.output };
}

/** Waits until only the test's own connection remains, and no key. */
async function nothingRemains(server: Server): Promise<void> {
  const clients = async (): Promise<number> =>
    String(await server.command('CLIENT', 'LIST'))
      .trim()
      .split('\n').length;
  await until(async () => (await clients()) === 1, { what: 'all connections closed' });
  const empty = async (): Promise<boolean> => (await server.command('DBSIZE')) === 0;
  await until(empty, { what: 'all keys gone', within: 10_000 });
}

const PASSED = [
  /✓ 0 overlaps seen by the resource in 3 visits/,
  /✓ each holder had a higher fence than the one before/,
  /✓ taken over [\d.]+ ms after the lease ended/,
  /writes with fence \d+: REFUSED/,
  /✓ the late write with the old fence was refused/,
  /✓ the new holder's write was accepted/,
  /✓ the old holder can detect it: held is false, its signal is aborted/,
];

beforeAll(() => {
  if (!existsSync(MAIN)) throw new Error('the demo is not built; run npm run build');
});

describe.concurrent('demo', { timeout: paced(180_000) }, () => {
  it('passes all checks, embedded', async () => {
    const { code, output } = await run(['--embedded']);
    for (const line of PASSED) expect(output).toMatch(line);
    expect(output).toContain('embedded');
    expect(output).not.toContain('✗');
    expect(code).toBe(0);
  });

  it('passes all checks with processes on a file, without a server', async () => {
    const { code, output } = await run([]);
    for (const line of PASSED) expect(output).toMatch(line);
    for (const word of ['SQLite', 'SIGKILL', 'SIGSTOP']) expect(output).toContain(word);
    expect(output).not.toContain('✗');
    expect(code).toBe(0);
  });

  it.each(['redis', 'valkey'] as const)('passes all checks with processes on %s', async (name) => {
    await using server = await startServer({ server: name });
    const { code, output } = await run(['--redis', server.url]);
    for (const line of PASSED) expect(output).toMatch(line);
    for (const word of ['SIGKILL', 'SIGSTOP', 'SIGCONT']) expect(output).toContain(word);
    expect(output).not.toContain('✗');
    expect(code).toBe(0);
    await nothingRemains(server);
  });

  it.each([
    // on a busy machine, the fences of holders at the same time are in any order: one more check
    ['no-lock', /✗ [1-9]\d* overlaps? seen by the resource/, [2, 3]],
    ['early-release', /✗ taken over [\d.]+ ms BEFORE the lease ended/, [2]],
    ['no-fence', /✗ the late write with the old fence was refused/, [2]],
  ])('fails with the fault %s', async (fault, line, failures) => {
    const { code, output } = await run([], fault);
    expect(output).toMatch(line);
    expect(failures, output).toContain(output.match(/✗/g)?.length);
    expect(code).toBe(1);
  });

  it('fails with the fault no-lock in processes', async () => {
    await using server = await startServer({ server: 'redis' });
    const { code, output } = await run(['--redis', server.url], 'no-lock');
    expect(output).toMatch(/✗ [1-9]\d* overlaps? seen by the resource/);
    expect(code).toBe(1);
  });

  it('kills two of five servers of a quorum', async () => {
    const { code, output } = await run(['--quorum']);
    expect(output).toMatch(/server 2 is killed \(SIGKILL\)[^]*server 4 is killed \(SIGKILL\)/);
    expect(output).toMatch(/✓ 0 overlaps seen by the resource in 3 visits/);
    expect(output).toMatch(/✓ the workers held the lock in their order/);
    expect(code, output).toBe(0);
  });

  it('fails with the fault no-lock on a quorum', async () => {
    const { code, output } = await run(['--quorum'], 'no-lock');
    expect(output).toMatch(/✗ [1-9]\d* overlaps? seen by the resource/);
    expect(code).toBe(1);
  });

  it('prints a one-line error when it cannot reach the server', async () => {
    const server = await startServer({ server: 'redis' });
    await server.stop();
    const { code, output } = await run(['--redis', `redis://:secret@127.0.0.1:${server.port}`]);
    expect(output.trim().split('\n')).toHaveLength(1);
    expect(output).toContain(`127.0.0.1:${server.port}`);
    expect(output).not.toContain('secret');
    expect(code).toBe(1);
  });

  it('closes all connections and keys when interrupted while a worker is stopped', async () => {
    await using server = await startServer({ server: 'redis' });
    await using demo = start(['--redis', server.url]);
    await until(() => demo.output.includes('is stopped (SIGSTOP)'), { within: 30_000 });
    demo.kill('SIGINT');
    expect(await demo.exited).toEqual({ code: 130, signal: null });
    expect(demo.output).toContain('interrupted: all workers ended');
    await nothingRemains(server);
  });
});
