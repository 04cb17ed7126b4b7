/** `holdfast dashboard`: serves the live view on this machine until a signal ends it. */
import { freePorts, until } from 'holdfast-testkit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Cli, cli } from '../cli.js';
import { ServerAndLocks } from '../server-and-locks.js';

let locks: ServerAndLocks;

beforeAll(async () => {
  locks = await ServerAndLocks.start();
  await locks.holdfast.mutex('invoice:42').acquire();
});
afterAll(() => locks.stop());

async function start(...args: string[]): Promise<{ program: Cli; url: string }> {
  const [port] = await freePorts(1);
  const env = { REDIS_URL: locks.server.url };
  const program = new Cli(['dashboard', '--port', `${port}`, ...args], { env });
  const isAt = (): string | undefined => /the locks are at (\S+)/.exec(program.stderr)?.[1];
  const url = await until(isAt, { within: 20_000 });
  return { program, url };
}

it('shows the locks of the server, read only, and ends with a signal', async () => {
  const { program, url } = await start();
  expect(new URL(url).hostname).toBe('127.0.0.1');
  const { origin, searchParams } = new URL(url);
  const headers = { authorization: `Bearer ${searchParams.get('token')}` };
  const page = await (await fetch(origin, { headers })).text();
  expect(page).toContain('name="holdfast-csrf" content=""');
  const asked = `${origin}/api/lock?key=invoice:42`;
  const lock = await (await fetch(asked, { headers })).json();
  expect(lock).toMatchObject({ key: 'invoice:42', holderCount: 1 });
  // another user of this machine does not know the token
  expect([(await fetch(origin)).status, (await fetch(asked)).status]).toEqual([403, 403]);
  program.kill('SIGTERM');
  expect(await program.exited).toEqual({ code: 0, signal: null });
});

it('at a port in use leads to 69 and an advice', async () => {
  const env = { REDIS_URL: locks.server.url };
  const result = await cli(['dashboard', '--port', String(locks.server.port)], { env });
  expect(result).toMatchObject({ code: 69 });
  expect(result.stderr).toContain('choose another port');
});

it('may end leases with `--write`', async () => {
  const { program, url } = await start('--write');
  await using _ = program;
  const entry = await fetch(url, { redirect: 'manual' });
  const cookie = entry.headers.get('set-cookie')?.split(';')[0] ?? '';
  const page = await fetch(new URL('./', url), { headers: { cookie } });
  expect(await page.text()).toMatch(/name="holdfast-csrf" content="[\w-]{43}"/u);
});
