/** Each client: exclusion, wake-ups, and what it opens. */
import { PGlite } from '@electric-sql/pglite';
import { Holdfast } from 'holdfast';
import { paced, until } from 'holdfast-testkit';
import { Client } from 'pg';
import postgresJs from 'postgres';
import { describe, expect, it } from 'vitest';
import { driverFor } from '../../src/detect.js';
import { createTable, postgres, type PostgresSource } from '../../src/index.js';
import { settingsOf } from '../../src/options.js';
import { PostgresRegister } from '../../src/postgres-register.js';
import { onServer } from '../support.js';

const database = onServer();

const urlOf = (): string => {
  const { host, user, database: name } = database.server.connection;
  return `postgresql://${user}@localhost/${name}?host=${encodeURIComponent(host)}`;
};

const CLIENTS: Record<string, () => Promise<PostgresSource>> = {
  'a pool of pg': async () => database.pool(),
  'a client of pg': async () => database.client(),
  'the settings of pg': async () => ({ ...database.server.connection }),
  'a URL': async () => urlOf(),
  'postgres.js': async () => {
    const sql = postgresJs({ ...database.server.connection, max: 2 });
    database.later(() => sql.end());
    return sql;
  },
  PGlite: async () => {
    const db = new PGlite();
    await createTable(db);
    database.later(() => db.close());
    return db;
  },
  'a function': async () => {
    const pool = database.pool();
    return (text, values) => pool.query(text, values);
  },
};

/** PGlite alone computes for seconds before its first statement. */
const LIMIT = { timeout: paced(30_000) };

describe.each(Object.entries(CLIENTS))('with %s', LIMIT, (name, make) => {
  it('one task at a time has the lock, and the next one is woken', async () => {
    const client = await make();
    const [a, b] = [1, 2].map(() => database.add(new Holdfast(postgres(client)))) as [
      Holdfast,
      Holdfast,
    ];
    const key = `clients ${name}`;
    const first = await a.mutex(key).acquire();
    expect(await b.mutex(key).tryAcquire()).toBeNull();
    const second = b.mutex(key).acquire();
    await until(async () => (await a.inspect(key))?.waiterCount === 1);
    // a function has no LISTEN: its waiters poll
    await until(() => b.stats().pushes || name === 'a function');
    expect(await first.release()).toBe('freed');
    const { fence } = await second;
    expect(fence).toBeGreaterThan(first.fence);
    expect(await (await second).release()).toBe('freed');
  });

  it('counts to 40 with four tasks of two instances', async () => {
    const client = await make();
    const instances = [1, 2].map(() => database.add(new Holdfast(postgres(client))));
    let inside = 0;
    let most = 0;
    let count = 0;
    const task = async (holdfast: Holdfast): Promise<void> => {
      for (let turn = 0; turn < 10; turn++) {
        await using _ = await holdfast.mutex(`count ${name}`).acquire();
        most = Math.max(most, (inside += 1));
        const seen = count;
        await new Promise((resolve) => setImmediate(resolve));
        count = seen + 1;
        inside -= 1;
      }
    };
    await Promise.all([...instances, ...instances].map(task));
    expect({ most, count }).toEqual({ most: 1, count: 40 });
  });
});

async function sessions(): Promise<number> {
  const text =
    "SELECT count(*)::int AS n FROM pg_stat_activity WHERE application_name = 'holdfast'";
  return (await database.watcher.query(text)).rows[0].n;
}

it('opens at most two connections, and closes them', async () => {
  const holdfast = database.instance();
  const other = database.instance();
  const lease = await other.mutex('few').acquire();
  const before = await sessions();
  const waiting = holdfast.mutex('few').acquire();
  await until(() => holdfast.stats().pushes);
  expect((await sessions()) - before).toBeLessThanOrEqual(2);
  await lease.release();
  await (await waiting).release();
  await holdfast.close();
  await other.close();
  await until(async () => (await sessions()) === 0);
});

// the opening of a wake channel sends a message to itself, perhaps after the instance was closed
it('a statement after the close leaves no connection', async () => {
  const settings = settingsOf({});
  const driver = driverFor(database.pool(), settings);
  const register = new PostgresRegister({ driver, ...settings });
  await register.read('late');
  expect(await sessions()).toBe(1);
  await register.close();
  await until(async () => (await sessions()) === 0);
  await Promise.all([register.read('late'), register.read('later')]);
  await until(async () => (await sessions()) === 0);
});

it('an instance on a store that was closed before keeps its connection', async () => {
  const store = postgres(database.pool());
  const pids = new Set<unknown>();
  await new Holdfast(store).close();
  const holdfast = database.add(new Holdfast(store));
  for (let round = 0; round < 3; round += 1) {
    await holdfast.mutex('again').run(() => undefined);
    const text = "SELECT pid FROM pg_stat_activity WHERE application_name = 'holdfast'";
    for (const { pid } of (await database.watcher.query(text)).rows) pids.add(pid);
  }
  expect(pids.size).toBe(1);
  expect(await sessions()).toBe(1);
});

// after a fail-over, the name of the primary may lead to another server
it('leaves a server that only reads', async () => {
  const settings = settingsOf({});
  const driver = driverFor(database.pool(), settings);
  const register = new PostgresRegister({ driver, ...settings });
  const change = { state: 'a', forgetAt: Number.MAX_SAFE_INTEGER, messages: [] };
  await driver.query('SET default_transaction_read_only = on', []);
  const refused = register.swap('fail-over', '0', change);
  await expect(refused).rejects.toMatchObject({ kind: 'transient' });
  expect(await register.swap('fail-over', '0', change)).toMatchObject({
    version: expect.any(String),
  });
  await register.close();
});

it('does not keep Node running, and needs no free connection of the pool', async () => {
  const pool = database.pool({ max: 1 });
  const holdfast = database.add(new Holdfast(postgres(pool)));
  const lease = await holdfast.mutex('exhausted').acquire();
  const taken = await pool.connect();
  expect(pool.idleCount).toBe(0);
  // control: the pool itself has no connection left
  const starved = pool.query('SELECT 1');
  expect(await lease.release()).toBe('freed');
  expect(await holdfast.mutex('exhausted').tryAcquire()).not.toBeNull();
  expect(pool.waitingCount).toBe(1);
  taken.release();
  await starved;
});

it('a function on an exhausted pool would keep the lock: control', async () => {
  const pool = database.pool({ max: 1 });
  const run = (text: string, values: string[]) => pool.query(text, values);
  const holdfast = database.add(new Holdfast(postgres(run), { requestTimeout: paced(200) }));
  const lease = await holdfast.mutex('starved').acquire();
  const taken = await pool.connect();
  await expect(lease.release()).rejects.toMatchObject({ code: 'HOLDFAST_UNCERTAIN' });
  taken.release();
});

it('refuses other things than clients, and options that do not exist', () => {
  const wrong: unknown[] = [undefined, null, 1, 'redis://x', {}, { query: () => undefined }];
  for (const client of wrong) {
    expect(() => postgres(client as never)).toThrow(
      expect.objectContaining({ code: 'HOLDFAST_BAD_OPTION', option: 'client' }),
    );
  }
  const client = new Client();
  const options = { table: 'a;b', listen: 'http://x', timeout: 1, stateMax: 1.5, tabel: 'x' };
  for (const [option, value] of Object.entries(options)) {
    expect(() => postgres(client, { [option]: value })).toThrow(
      expect.objectContaining({ code: 'HOLDFAST_BAD_OPTION', option }),
    );
  }
  expect(() => postgres(async () => [], { listen: urlOf() })).toThrow(/"listen"/);
});
