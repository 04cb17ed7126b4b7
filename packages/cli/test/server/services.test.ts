/** `holdfast once` and `lead`, as cron and service managers use them. */
import { Holdfast } from 'holdfast';
import { type Server, startServer, until } from 'holdfast-testkit';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Cli, cli } from '../cli.js';

/** Several programs start one after the other, which takes long on a busy machine. */
const SLOW_MS = 120_000;

let server: Server;
let client: Redis;
let holdfast: Holdfast;
let env: Record<string, string>;
beforeAll(async () => {
  server = await startServer({ server: 'valkey' });
  env = { REDIS_URL: server.url };
  client = new Redis(server.url);
  holdfast = new Holdfast(client);
});
afterAll(async () => {
  await holdfast.close();
  client.disconnect();
  await server.stop();
});

const LOOP = 'echo up $HOLDFAST_FENCE; while :; do sleep 0.02; done';
const once = (name: string, ...args: string[]): ReturnType<typeof cli> =>
  cli(['once', name, ...args], { env });

describe('once', () => {
  it('of three machines, one runs the job, and all exit with 0', async () => {
    const runs = [1, 2, 3].map(() => once('report', '--at-least', '1h', '--', 'echo', 'ran'));
    const results = await Promise.all(runs);
    expect(results.map(({ code }) => code)).toEqual([0, 0, 0]);
    expect(results.map(({ stdout }) => stdout).sort()).toEqual(['', '', 'ran\n']);
  });

  it('says with --json why it skipped; -E chooses the exit code', async () => {
    const args = ['--at-least', '1h', '-E', '75', '--json', '--', 'echo', 'ran'];
    expect(await once('nightly', ...args)).toMatchObject({ code: 0, stdout: 'ran\n' });
    const { code, stderr, stdout } = await once('nightly', ...args);
    expect({ code, stdout }).toEqual({ code: 75, stdout: '' });
    expect(JSON.parse(stderr)).toMatchObject({
      event: 'skipped',
      reason: 'busy',
      holder: { label: 'echo' },
    });
  });

  it('runs each slot once', async () => {
    const args = ['--at-least', '0', '--verbose', '--slot'];
    expect(await once('slots', ...args, 'mon', '--', 'echo', '1')).toMatchObject({ stdout: '1\n' });
    const again = await once('slots', ...args, 'mon', '--', 'echo', '2');
    expect(again).toMatchObject({ code: 0, stdout: '' });
    expect(again.stderr).toContain('skipped slots: its slot was used, by echo');
    expect(await once('slots', ...args, 'tue', '--', 'echo', '3')).toMatchObject({ stdout: '3\n' });
  });

  it(
    'passes the exit code on; --after-failure release lets a failed job run again',
    async () => {
      const args = ['--at-least', '1h', '--after-failure', 'release', '--', 'sh', '-c', 'exit 4'];
      expect(await once('fails', ...args)).toMatchObject({ code: 4 });
      expect(await once('fails', ...args)).toMatchObject({ code: 4 });
      const kept = ['--at-least', '1h', '--', 'sh', '-c', 'exit 4'];
      expect(await once('fails-kept', ...kept)).toMatchObject({ code: 4 });
      expect(await once('fails-kept', ...kept)).toMatchObject({ code: 0 });
    },
    SLOW_MS,
  );

  it('ends the command after --at-most', async () => {
    const args = ['--at-least', '0', '--ttl', '4s', '--at-most', '4s', '--', 'sleep', '60'];
    const { code, stderr } = await once('hangs', ...args);
    expect(code).toBe(70);
    expect(stderr).toContain('the time of --at-most was almost over');
  });

  it('of a command that is missing on this machine leaves the run to others', async () => {
    const args = ['--at-least', '1h', '--slot', 'mon', '--'];
    expect(await once('moves', ...args, 'no-such-command')).toMatchObject({ code: 127 });
    expect(await once('moves', ...args, './no-such-file')).toMatchObject({ code: 127 });
    expect(await once('moves', ...args, 'echo', 'ran')).toMatchObject({ code: 0, stdout: 'ran\n' });
  });

  it('needs --at-least', async () => {
    const { code, stderr } = await once('report', '--', 'true');
    expect(code).toBe(64);
    expect(stderr).toContain("required option '--at-least <time>' not specified");
  });
});

describe('lead', () => {
  const candidate = (name: string, ...args: string[]): Cli =>
    new Cli(['lead', name, '--kill-after', '150ms', ...args, '--', 'sh', '-c', LOOP], { env });

  it('runs the command on one of two; the other follows when the first is stopped', async () => {
    await using one = candidate('pair');
    const [, term] = await one.shows(/up (\d+)/);
    await using two = candidate('pair');
    await until(async () => (await holdfast.inspect('pair'))?.waiterCount === 1, {
      within: 20_000,
    });
    expect(two.stdout).toBe('');
    one.kill('SIGTERM');
    expect(await one.exited).toEqual({ code: 143, signal: null });
    const [, next] = await two.shows(/up (\d+)/);
    expect(Number(next)).toBeGreaterThan(Number(term));
    two.kill('SIGTERM');
    await two.exited;
  });

  it('exits with the code of a command that ends by itself', async () => {
    const args = ['lead', 'short', '--', 'sh', '-c', 'exit 6'];
    expect(await cli(args, { env })).toMatchObject({ code: 6 });
    expect(await holdfast.inspect('short')).toBeNull();
  });

  it('stands again when the lock is lost', async () => {
    await using program = candidate('again');
    const [, term] = await program.shows(/up (\d+)/);
    await holdfast.forceRelease('again');
    const [, next] = await program.shows(/up \d+\nup (\d+)/);
    expect(Number(next)).toBeGreaterThan(Number(term));
    expect(program.stderr).toContain('standing again for again');
    program.kill('SIGTERM');
    expect(await program.exited).toEqual({ code: 143, signal: null });
  });

  it('stands again when the lock is lost after a SIGHUP that the command survived', async () => {
    const text = 'trap "echo reloaded" HUP; echo up; while :; do sleep 0.02; done';
    const args = ['--kill-after', '150ms', '--', 'sh', '-c', text];
    await using program = new Cli(['lead', 'reloads', ...args], { env });
    await program.shows(/up/);
    program.kill('SIGHUP');
    await program.shows(/reloaded/);
    await holdfast.forceRelease('reloads');
    await program.shows(/reloaded\n(?:.*\n)*up/);
    program.kill('SIGTERM');
    expect(await program.exited).toEqual({ code: 143, signal: null });
  });

  it('that waits ends with 143 at SIGTERM', async () => {
    const lease = await holdfast.mutex('taken').acquire();
    await using program = candidate('taken');
    await until(async () => (await holdfast.inspect('taken'))?.waiterCount === 1, {
      within: 20_000,
    });
    program.kill('SIGTERM');
    expect(await program.exited).toEqual({ code: 143, signal: null });
    await lease.release();
  });

  it('serves the leader, and events at each change', async () => {
    const lease = await holdfast.mutex('served').acquire({ label: 'first' });
    await using program = candidate('served', '--http', '0', '--json');
    const url = await until(() => /"url":"([^"]+)"/.exec(program.stderr)?.[1], { within: 20_000 });
    expect(new URL(url).hostname).toBe('127.0.0.1');
    const page = async (): Promise<unknown> => (await fetch(url)).json();
    await until(async () => expect(await page()).toMatchObject({ leader: { label: 'first' } }));
    expect(await statusOf(`${url}leads`)).toBe(503);
    expect(await statusOf(`${url}other`)).toBe(404);
    expect(await statusOf(url, { method: 'POST' })).toBe(405);
    const head = { method: 'HEAD', signal: AbortSignal.timeout(10_000) };
    expect(await statusOf(`${url}events`, head)).toBe(200);
    const events = listen(`${url}events`);
    await until(() => events.at(-1)?.leads === false);
    await lease.release();
    await until(() =>
      expect(events.at(-1)).toMatchObject({ leads: true, leader: { label: 'sh' } }),
    );
    expect(await statusOf(`${url}leads`)).toBe(200);
    program.kill('SIGTERM');
    await program.exited;
    await expect(fetch(url)).rejects.toThrow();
  });

  it('does not serve that it leads while a command ends whose lock was lost', async () => {
    const text = 'trap "sleep 60" TERM; echo up; while :; do sleep 0.02; done';
    const args = [
      '--http',
      '0',
      '--json',
      '--ttl',
      '1m',
      '--kill-after',
      '10s',
      '--',
      'sh',
      '-c',
      text,
    ];
    await using program = new Cli(['lead', 'losing', ...args], { env });
    const url = await until(() => /"url":"([^"]+)"/.exec(program.stderr)?.[1], { within: 20_000 });
    await program.shows(/up/);
    expect(await statusOf(`${url}leads`)).toBe(200);
    await holdfast.forceRelease('losing');
    await until(async () => (await statusOf(`${url}leads`)) === 503);
    expect(program.stderr).not.toContain('"event":"ended"');
    program.kill('SIGINT');
  });

  it('refuses an address that is in use', async () => {
    const args = ['--http', String(server.port), '--', 'true'];
    const result = await cli(['lead', 'in-use', ...args], { env });
    expect(result).toMatchObject({ code: 69 });
    expect(result.stderr).toContain('choose another port');
  });
});

/** The status of a page. It reads the body: an unread one can hold up the next request. */
async function statusOf(url: string, init?: RequestInit): Promise<number> {
  const response = await fetch(url, init);
  await response.text();
  return response.status;
}

interface Event {
  readonly leads: boolean;
  readonly leader: unknown;
}

/** The events of a page, as they come, until it closes. */
function listen(url: string): Event[] {
  const events: Event[] = [];
  const read = async (): Promise<void> => {
    const decoder = new TextDecoder();
    for await (const chunk of (await fetch(url)).body ?? []) {
      const text = decoder.decode(chunk);
      for (const [, data] of text.matchAll(/^data: (.*)$/gm)) events.push(JSON.parse(String(data)));
    }
  };
  // the page closes the connection at its end
  read().catch(() => undefined);
  return events;
}
