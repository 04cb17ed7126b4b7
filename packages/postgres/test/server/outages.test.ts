/** Connections that end, a server that restarts or is gone, and one that refuses. */
import { Holdfast } from 'holdfast';
import { paced, startPostgres, until } from 'holdfast-testkit';
import { Client, Pool } from 'pg';
import { describe, expect, it } from 'vitest';
import { createTable, postgres, tableSql } from '../../src/index.js';
import { onServer } from '../support.js';

const database = onServer();

/** Ends the connections of this package that wait for messages, or all others of it. */
async function cut(which: 'listening' | 'statements'): Promise<number> {
  const listens = which === 'listening' ? '' : 'NOT';
  const { rowCount } = await database.watcher.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE application_name = 'holdfast' AND ${listens} query ~ '^LISTEN'`,
  );
  return rowCount ?? 0;
}

async function listening(): Promise<readonly number[]> {
  const { rows } = await database.watcher.query<{ pid: number }>(
    `SELECT pid FROM pg_stat_activity WHERE application_name = 'holdfast' AND query ~ '^LISTEN'`,
  );
  return rows.map(({ pid }) => pid);
}

describe('a connection that the server ends', () => {
  it('for messages: comes back, and the next waiter is woken', async () => {
    const [a, b] = [database.instance(), database.instance()];
    const first = await a.mutex('cut').acquire();
    const waiting = b.mutex('cut').acquire();
    await until(() => b.stats().pushes);
    const before = await listening();
    expect(await cut('listening')).toBe(before.length);
    // all of them listen again
    const isNew = (pid: number): boolean => !before.includes(pid);
    await until(async () => (await listening()).filter(isNew).length >= before.length);
    await until(() => b.stats().pushes);
    await first.release();
    expect(await (await waiting).release()).toBe('freed');
  });

  it('for statements: the lease stays, and the next statement opens another one', async () => {
    const holdfast = database.instance();
    const lease = await holdfast.mutex('cut too').acquire();
    expect(await cut('statements')).toBeGreaterThan(0);
    // a statement that was sent to the dead connection has no known outcome
    await until(async () => (await lease.extend(20_000)) > 10_000);
    expect(await lease.release()).toBe('freed');
  });
});

it('a restart of the server under a held lock keeps the lease', async () => {
  await using server = await startPostgres();
  const pool = new Pool(server.connection);
  pool.on('error', () => undefined);
  await createTable(pool);
  const settings = { ttl: paced(10_000), requestTimeout: paced(1000) };
  await using a = new Holdfast(postgres(pool), settings);
  await using b = new Holdfast(postgres(pool), settings);
  const lease = await a.mutex('restart').acquire();
  const waiting = b.mutex('restart').acquire();
  await until(() => b.stats().pushes);
  await server.restart();
  expect(lease.held).toBe(true);
  expect(await lease.extend(10_000)).toBeGreaterThan(5000);
  expect(await b.mutex('restart').tryAcquire()).toBeNull();
  await until(() => b.stats().pushes);
  await lease.release();
  const next = await waiting;
  expect(next.fence).toBeGreaterThan(lease.fence);
  await next.release();
  await Promise.all([a.close(), b.close()]);
  await pool.end();
});

it('a server that is gone is an outage and not a refusal', async () => {
  const server = await startPostgres();
  const pool = new Pool(server.connection);
  pool.on('error', () => undefined);
  await createTable(pool);
  const terms = { requestTimeout: paced(300), unreachableAfter: paced(600) };
  const holdfast = new Holdfast(postgres(pool), terms);
  const lease = await holdfast.mutex('gone').acquire();
  await server[Symbol.asyncDispose]();
  await expect(holdfast.mutex('other').acquire()).rejects.toMatchObject({
    code: 'HOLDFAST_UNREACHABLE',
  });
  await expect(lease.release()).rejects.toMatchObject({ code: 'HOLDFAST_UNCERTAIN' });
  await holdfast.close({ grace: 0 });
  await pool.end();
});

describe('a server that refuses', () => {
  it('says how to create a table that is missing', async () => {
    const holdfast = database.instance({}, { table: 'not_there' });
    await expect(holdfast.mutex('x').acquire()).rejects.toMatchObject({
      code: 'HOLDFAST_REFUSED',
      message: expect.stringMatching(/not_there.*createTable/),
    });
    await database.watcher.query(tableSql('not_there'));
    await (await holdfast.mutex('x').acquire()).release();
  });

  it('says which rights are missing', async () => {
    await database.watcher.query('CREATE ROLE poor LOGIN');
    const pool = database.pool({ user: 'poor' });
    const holdfast = database.add(new Holdfast(postgres(pool)));
    await expect(holdfast.mutex('x').acquire()).rejects.toMatchObject({
      code: 'HOLDFAST_REFUSED',
      message: expect.stringMatching(/permission denied.*SELECT, INSERT, UPDATE and DELETE/),
    });
  });

  it('a user that may not log in is refused with the words of the server', async () => {
    const pool = database.pool({ user: 'nobody_here' });
    const holdfast = database.add(new Holdfast(postgres(pool)));
    await expect(holdfast.mutex('x').acquire()).rejects.toMatchObject({
      code: 'HOLDFAST_REFUSED',
      message: expect.stringContaining('nobody_here'),
    });
  });

  it('changes on a server that only reads are an outage', async () => {
    const pool = database.pool({ options: '-c default_transaction_read_only=on' });
    const terms = { requestTimeout: paced(300), unreachableAfter: paced(500) };
    const holdfast = database.add(new Holdfast(postgres(pool), terms));
    await expect(holdfast.mutex('read only').acquire()).rejects.toMatchObject({
      code: 'HOLDFAST_UNREACHABLE',
      message: expect.stringMatching(/read-only.*primary/),
    });
  });
});

it('a pooler that loses LISTEN is found, and waiters poll', async () => {
  // a client that never receives a notification stands for such a pooler
  class Deaf extends Client {
    override on(event: string, listener: (...args: never) => void): this {
      return event === 'notification' ? this : super.on(event as 'end', listener);
    }
  }
  const pool = database.pool({ Client: Deaf });
  const [a, b] = [1, 2].map(() => database.add(new Holdfast(postgres(pool), { claimWindow: 500 })));
  const lease = await (a as Holdfast).mutex('deaf').acquire();
  const waiting = (b as Holdfast).mutex('deaf').acquire();
  await until(async () => (await (a as Holdfast).inspect('deaf'))?.waiterCount === 1);
  await lease.release();
  expect(await (await waiting).release()).toBe('freed');
  expect((b as Holdfast).stats().pushes).toBe(false);
});
