/** Commands with the locks of a PostgreSQL server. */
import { createTable } from 'holdfast-postgres';
import { freePorts, paced, type Postgres, startPostgres } from 'holdfast-testkit';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { answered, Cli, cli } from '../cli.js';
import { everyCommand } from '../every-command.js';

let server: Postgres;
let admin: Client;
let url: string;

/** The server listens on a socket. */
const urlOf = (user: string): string => {
  const { host, database } = server.connection;
  return `postgres://${user}@${encodeURIComponent(host)}/${database}`;
};

beforeAll(async () => {
  server = await startPostgres({ settings: { fsync: 'on' } });
  admin = new Client(server.connection);
  await admin.connect();
  await createTable(admin);
  await createTable(admin, { table: 'second_locks' });
  await admin.query('CREATE ROLE stranger LOGIN');
  url = urlOf(server.connection.user);
}, 120_000);
afterAll(async () => {
  await admin?.end();
  await server?.[Symbol.asyncDispose]();
});

describe('a command under a lock of PostgreSQL', () => {
  it('is used by every command', { timeout: paced(60_000) }, () => everyCommand(url));

  it('has a table and a prefix of its own', async () => {
    await using running = new Cli(['run', 'own', '--url', url, '--', 'cat']);
    const other = (...args: string[]): ReturnType<typeof cli> =>
      answered(['run', 'own', '-n', '--url', url, ...args, '--', 'echo', 'ran']);
    await expect.poll(async () => (await other()).code, { timeout: paced(20_000) }).toBe(75);
    expect(await other('--table', 'second_locks')).toMatchObject({ code: 0, stdout: 'ran\n' });
    expect(await other('--prefix', 'app:')).toMatchObject({ code: 0, stdout: 'ran\n' });
    running.endInput();
    expect(await running.exited).toMatchObject({ code: 0 });
  });

  it('is not run without a server, a table or rights, and no password is shown', async () => {
    const run = (one: string, ...args: string[]): ReturnType<typeof cli> =>
      answered(['run', 'k', '--url', one, ...args, '--', 'echo', 'ran']);
    const [port] = await freePorts(1);
    const down = await run(`postgres://me:p4ss@127.0.0.1:${port}/app`);
    expect(down).toMatchObject({ code: 69, stdout: '' });
    expect(down.stderr).toContain(`the database 127.0.0.1:${port}/app cannot be used`);
    expect(down.stderr).not.toContain('p4ss');
    const missing = await run(url, '--table', 'no_such_table');
    expect(missing).toMatchObject({ code: 69, stdout: '' });
    expect(missing.stderr).toContain('create the table with');
    const denied = await run(urlOf('stranger'));
    expect(denied).toMatchObject({ code: 77, stdout: '' });
    expect(denied.stderr).toContain('the user needs SELECT');
  });

  it('is refused with options of other stores', async () => {
    const run = (...args: string[]): ReturnType<typeof cli> =>
      cli(['run', 'k', ...args, '--', 'echo', 'ran']);
    const table = await run('--table', 't', '--url', 'redis://127.0.0.1');
    expect(table.code).toBe(64);
    expect(table.stderr).toContain('--table');
    const several = await run('--url', url, '--url', 'redis://127.0.0.1', '--url', url);
    expect(several.code).toBe(64);
    expect(several.stderr).toContain('quorum');
    expect(await run('--url', url, '--table', 'a;b')).toMatchObject({ code: 64 });
  });
});
