/** What the doctor finds on a server. */
import type { Finding } from 'holdfast/register';
import { describe, expect, it } from 'vitest';
import { findingsOf } from '../../src/findings.js';
import { createTable } from '../../src/index.js';
import { onServer } from '../support.js';

const database = onServer({ settings: { fsync: 'on', max_replication_slots: '4' } });

async function found(table?: string): Promise<readonly Finding[]> {
  const holdfast = database.instance({}, table === undefined ? {} : { table });
  return (await holdfast.doctor()).findings;
}

describe('the doctor', () => {
  it('finds nothing on a server with the usual settings', async () => {
    expect(await found()).toEqual([]);
  });

  it('finds a table that does not survive a crash', async () => {
    await createTable(database.pool(), { table: 'short_lived' });
    await database.watcher.query('ALTER TABLE short_lived SET UNLOGGED');
    expect(await found('short_lived')).toMatchObject([
      { code: 'postgres:unlogged-table', severity: 'danger', server: 'postgres' },
    ]);
  });

  it('finds that there is no table', async () => {
    expect(await found('not_there')).toMatchObject([{ code: 'postgres:no-table' }]);
  });

  it('finds a table without its primary key; a free lock is refused there', async () => {
    await database.watcher.query('CREATE TABLE copied AS SELECT * FROM holdfast_locks');
    expect(await found('copied')).toMatchObject([{ code: 'postgres:no-primary-key' }]);
    const instances = Array.from({ length: 4 }, () => database.instance({}, { table: 'copied' }));
    const tried = instances.map((one) => one.mutex('a').tryAcquire());
    for (const outcome of await Promise.allSettled(tried)) {
      expect(outcome).toMatchObject({
        reason: { code: 'HOLDFAST_REFUSED', message: expect.stringContaining('PRIMARY KEY') },
      });
    }
    await database.watcher.query('ALTER TABLE copied ADD PRIMARY KEY (key)');
    expect(await found('copied')).toEqual([]);
    expect(await instances[0]?.mutex('a').tryAcquire()).toMatchObject({ held: true });
  });

  it('finds settings that lose answered commits', async () => {
    const { watcher } = database;
    await watcher.query('ALTER SYSTEM SET synchronous_commit = off');
    await watcher.query('SELECT pg_reload_conf()');
    try {
      await expect
        .poll(async () => (await found()).map(({ code }) => code), { timeout: 20_000 })
        .toEqual(['postgres:asynchronous-commit']);
    } finally {
      await watcher.query('ALTER SYSTEM RESET synchronous_commit');
      await watcher.query('SELECT pg_reload_conf()');
    }
  });
});

// a standby, a minute and a slot of a standby are not made here
const row = {
  ...{ name: 'app', fsync: 'on', commits: 'on', names: '', standbys: '0', kept: 'p' },
  ...{ oldest: '59', slots: null, standby: 'false', found: 'locks', unique_keys: '1' },
};

it.each([
  [{}, []],
  [{ oldest: null }, []],
  [{ fsync: 'off' }, ['postgres:no-fsync']],
  [{ standbys: '2' }, ['postgres:asynchronous-standby']],
  [{ standbys: '2', names: 'ANY 1 (a, b)' }, []],
  [{ oldest: '60' }, ['postgres:long-transaction']],
  [{ slots: 'old' }, ['postgres:unused-slot']],
  [{ standby: 'true' }, ['postgres:standby']],
  [{ found: null, unique_keys: '0' }, ['postgres:no-table']],
  [{ unique_keys: '0' }, ['postgres:no-primary-key']],
])('%j: %j', (change, codes) => {
  expect(findingsOf({ ...row, ...change }).map(({ code }) => code)).toEqual(codes);
});
