/** Transactions of other isolation levels, long ones, and many processes at once. */
import { Holdfast } from 'holdfast';
import { until } from 'holdfast-testkit';
import { describe, expect, it } from 'vitest';
import { driverFor } from '../../src/detect.js';
import { postgres, tableSql } from '../../src/index.js';
import { settingsOf } from '../../src/options.js';
import { PostgresRegister } from '../../src/postgres-register.js';
import { onServer } from '../support.js';

const database = onServer({ settings: { max_connections: '60' } });

/** Counts with tasks of several instances; the most that were inside at a time. */
async function count(instances: readonly Holdfast[], key: string): Promise<[number, number]> {
  let inside = 0;
  let most = 0;
  let total = 0;
  const task = async (holdfast: Holdfast): Promise<void> => {
    for (let turn = 0; turn < 10; turn++) {
      await using _ = await holdfast.mutex(key).acquire();
      most = Math.max(most, (inside += 1));
      const seen = total;
      await new Promise((resolve) => setImmediate(resolve));
      total = seen + 1;
      inside -= 1;
    }
  };
  await Promise.all(instances.flatMap((one) => [task(one), task(one)]));
  return [most, total];
}

describe.each(['read committed', 'repeatable read', 'serializable'])(
  '%s as the default',
  (level) => {
    it('loses races, and no updates', async () => {
      const options = `-c default_transaction_isolation=${level.replace(' ', '\\ ')}`;
      const instances = Array.from({ length: 4 }, () =>
        database.add(new Holdfast(postgres(database.pool({ options })))),
      );
      expect(await count(instances, level)).toEqual([1, 80]);
    });
  },
);

it('a long transaction elsewhere keeps no lock from moving', async () => {
  const old = await database.client();
  await old.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
  await old.query('SELECT 1 FROM holdfast_locks LIMIT 1');
  const instances = [database.instance(), database.instance()];
  expect(await count(instances, 'long')).toEqual([1, 40]);
  await old.query('COMMIT');
});

describe('the table', () => {
  it('may be created by many processes at once', async () => {
    const clients = await Promise.all(Array.from({ length: 12 }, () => database.client()));
    for (let turn = 0; turn < 5; turn++) {
      await database.watcher.query('DROP TABLE IF EXISTS crowd');
      await Promise.all(clients.map((client) => client.query(tableSql('crowd'))));
    }
    const { rows } = await database.watcher.query(
      "SELECT reloptions FROM pg_class WHERE relname = 'crowd'",
    );
    expect(rows[0].reloptions).toContain('fillfactor=50');
  });

  it('waits for the process that creates it, and keeps what it made', async () => {
    const [first, second] = [await database.client(), await database.client()];
    await first.query('BEGIN');
    await first.query(tableSql('twice'));
    const created = second.query(tableSql('twice'));
    const waits = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
    await until(async () => (await database.watcher.query(waits)).rowCount === 1);
    await first.query('COMMIT');
    await created;
    const { rows } = await database.watcher.query(
      `SELECT attstorage FROM pg_attribute
       WHERE attrelid = 'twice'::regclass AND attname = 'state'`,
    );
    expect(rows).toEqual([{ attstorage: 'm' }]);
  });

  it('negative control: without the exception handler the second one fails', async () => {
    const plain = tableSql('control').replace(/EXCEPTION[\s\S]*NULL;\n/, '');
    const [first, second] = [await database.client(), await database.client()];
    await first.query('BEGIN');
    await first.query(plain);
    const created = second.query(plain);
    void created.catch(() => undefined);
    const waits = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
    await until(async () => (await database.watcher.query(waits)).rowCount === 1);
    await first.query('COMMIT');
    await expect(created).rejects.toMatchObject({ code: '23505' });
  });

  it('is updated in place (HOT), and stays small', async () => {
    const holdfast = database.instance();
    for (let turn = 0; turn < 200; turn++) await (await holdfast.mutex('hot').acquire()).release();
    const seen = async (): Promise<{ n_tup_upd: string; n_tup_hot_upd: string }> =>
      (
        await database.watcher.query(
          `SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables
           WHERE relname = 'holdfast_locks'`,
        )
      ).rows[0];
    // a session that ends tells its counts
    await holdfast.close();
    await until(async () => Number((await seen()).n_tup_upd) >= 300);
    const { n_tup_upd, n_tup_hot_upd } = await seen();
    expect(Number(n_tup_hot_upd) / Number(n_tup_upd)).toBeGreaterThan(0.9);
  });
});

describe('swaps of many keys', () => {
  const registerOn = (): PostgresRegister => {
    const settings = settingsOf({ listen: false });
    const driver = driverFor(database.pool(), settings);
    const register = new PostgresRegister({ driver, ...settings });
    database.later(() => register.close());
    return register;
  };
  const change = (state: string) => ({
    ...{ state, forgetAt: Number.MAX_SAFE_INTEGER, messages: [], fence: 0 },
  });

  it('of two processes never wait for each other, and one of both wins each key', async () => {
    const all = Array.from({ length: 50 }, (_, at) => `many ${at}`);
    const registers = [registerOn(), registerOn()];
    for (let turn = 0; turn < 20; turn++) {
      const states = await Promise.all(
        registers.map(async (one, at) => {
          const keys = at === 0 ? all : all.toReversed();
          const found = await Promise.all(keys.map((key) => one.read(key)));
          const swaps = keys.map((key, index) => {
            const { version } = found[index] as { version: string };
            return { key, version, change: change(`${turn} ${at}`) };
          });
          const swapped = await Promise.all(
            swaps.map((swap) => one.swap(swap.key, swap.version, swap.change)),
          );
          return new Map(keys.map((key, index) => [key, swapped[index] !== false]));
        }),
      );
      const [reader] = registers as [PostgresRegister];
      const seen = await Promise.all(all.map((key) => reader.read(key)));
      for (const [at, key] of all.entries()) {
        const { state } = seen[at] as { state: string };
        const winner = Number(state.split(' ')[1]);
        // both may win one after the other; the text is that of a winner
        if (state.startsWith(`${turn} `)) expect(states[winner]?.get(key)).toBe(true);
      }
    }
  });

  it('a key that is refused fails alone', async () => {
    const register = registerOn();
    const swaps = ['fine', 'x'.repeat(100_000)].map((key) => ({
      ...{
        key: key === 'fine' ? key : Array.from(key, () => Math.random()).join(''),
        version: '0',
      },
      change: change('s'),
    }));
    const [fine, tooLong] = await Promise.allSettled(
      swaps.map((one) => register.swap(one.key, one.version, one.change)),
    );
    expect(fine).toMatchObject({ status: 'fulfilled', value: { version: expect.any(String) } });
    expect(tooLong).toMatchObject({ status: 'rejected', reason: { kind: 'refused' } });
  });

  it('forgotten rows are removed, and a new state has a new version', async () => {
    const register = registerOn();
    const first = await register.swap('old', '0', { ...change('s'), forgetAt: 1 });
    const read = await register.read('old');
    expect(read.state).toBe('');
    const again = await register.swap('old', read.version, change('t'));
    expect(again).toMatchObject({ version: expect.any(String) });
    expect(first).not.toEqual(again);
    expect(await register.swap('old', read.version, change('u'))).toBe(false);
    expect(await register.read('old')).toMatchObject({ state: 't' });
  });
});
