/** Guards: a transaction of the holder keeps the lock until it ends. */
import { PGlite } from '@electric-sql/pglite';
import { Holdfast, type Lease } from 'holdfast';
import { paced, sleep, spawnWorker, until } from 'holdfast-testkit';
import type { Client } from 'pg';
import postgresJs from 'postgres';
import { describe, expect, it } from 'vitest';
import { driverFor } from '../../src/detect.js';
import { createTable, guard, postgres } from '../../src/index.js';
import { settingsOf } from '../../src/options.js';
import { PostgresRegister } from '../../src/postgres-register.js';
import { onServer } from '../support.js';

const database = onServer({ settings: { max_connections: '60' } });

/** A lease that ends in the store although its holder believes in it: as of a paused process. */
const TTL = paced(500);
const FIXED = { ttl: TTL, renew: false };

async function begun(): Promise<Client> {
  const tx = await database.client();
  await tx.query('BEGIN');
  return tx;
}

/** Begins a transaction, and takes a lock whose short lease ends during it. */
async function paused(key: string, guarded: boolean): Promise<{ tx: Client; lease: Lease }> {
  // a connection may take longer than the lease lasts
  const tx = await begun();
  const lease = await database.instance().mutex(key, FIXED).acquire();
  if (guarded) await guard(lease, tx);
  return { tx, lease };
}

describe('a holder that is paused for longer than its lease', () => {
  it('keeps the lock until its transaction ends', async () => {
    const { tx, lease } = await paused('kept', true);
    const other = database.instance();
    let got: Lease | undefined;
    const waiting = other.mutex('kept').acquire();
    void waiting.then((next) => (got = next));
    await until(() => !lease.held);
    // several polls of the waiter come after the end of the lease
    await sleep(4 * TTL);
    expect(got).toBeUndefined();
    expect(await database.instance().mutex('kept').tryAcquire()).toBeNull();
    await tx.query('COMMIT');
    const next = await waiting;
    expect(next.fence).toBeGreaterThan(lease.fence);
    await next.release();
  });

  it('without a guard the next holder comes during the transaction: control', async () => {
    const { tx } = await paused('control', false);
    const next = await database.instance().mutex('control').acquire({ wait: 10_000 });
    // the transaction is still open
    await tx.query('SELECT 1');
    await tx.query('COMMIT');
    await next.release();
  });

  it('keeps it from many other processes, and their wait limit is a time-out', async () => {
    const { tx } = await paused('crowd', true);
    const others = Array.from({ length: 5 }, () => database.instance());
    const waits = others.map((one) => one.mutex('crowd').acquire({ wait: 3 * TTL }));
    for (const outcome of await Promise.allSettled(waits)) {
      expect(outcome).toMatchObject({
        status: 'rejected',
        reason: { code: 'HOLDFAST_TIMEOUT' },
      });
    }
    await tx.query('ROLLBACK');
    await (await (others[0] as Holdfast).mutex('crowd').acquire({ wait: 10_000 })).release();
  });

  it('loses it when the connection of the transaction is lost', async () => {
    const { tx } = await paused('lost', true);
    const { rows } = await tx.query('SELECT pg_backend_pid() AS pid');
    await database.watcher.query('SELECT pg_terminate_backend($1)', [rows[0].pid]);
    await (await database.instance().mutex('lost').acquire({ wait: 10_000 })).release();
  });
});

it('a process that is stopped in its transaction keeps the lock', async () => {
  const url = new URL('../children/guards.mjs', import.meta.url);
  await using child = spawnWorker(url, { args: [JSON.stringify(database.server.connection)] });
  await child.next('guarded');
  child.kill('SIGSTOP');
  const other = database.instance();
  let got = false;
  const waiting = other
    .mutex('stopped')
    .acquire({ wait: 20_000 })
    .then((lease) => {
      got = true;
      return lease;
    });
  await sleep(5 * TTL);
  expect(got).toBe(false);
  child.kill('SIGCONT');
  await child.send({ type: 'go on' });
  await child.next('committed');
  await (await waiting).release();
  const { rows } = await database.watcher.query('SELECT count(*)::int AS n FROM written');
  expect(rows).toEqual([{ n: 1 }]);
});

describe('a guarded lock', () => {
  it('is renewed, and others join its queue', async () => {
    const [holder, other] = [database.instance({ ttl: paced(600) }), database.instance()];
    const lease = await holder.mutex('renewed').acquire();
    const tx = await begun();
    await guard(lease, tx);
    const waiting = other.mutex('renewed').acquire();
    await until(async () => (await holder.inspect('renewed'))?.waiterCount === 1);
    await sleep(paced(1500));
    expect(lease.held).toBe(true);
    expect(holder.stats().failedRenewals).toBe(0);
    await tx.query('COMMIT');
    expect(await lease.release()).toBe('freed');
    await (await waiting).release();
  });

  it('stays guarded over later changes of its row', async () => {
    const holder = database.instance({ ttl: paced(600) });
    const lease = await holder.mutex('moved').acquire();
    const tx = await begun();
    await guard(lease, tx);
    for (let turn = 0; turn < 20; turn++) await lease.extend(paced(600) + turn * 10);
    await holder.close({ grace: 0 }).catch(() => undefined);
    expect(await database.instance().mutex('moved').tryAcquire()).toBeNull();
    await tx.query('COMMIT');
    await (await database.instance().mutex('moved').acquire({ wait: 10_000 })).release();
  });

  it('that is released too early stays with the transaction', async () => {
    const [holder, other] = [database.instance(), database.instance()];
    const lease = await holder.mutex('early').acquire();
    const tx = await begun();
    await guard(lease, tx);
    expect(await lease.release()).toBe('freed');
    await expect(other.mutex('early').acquire({ wait: 1200 })).rejects.toMatchObject({
      code: 'HOLDFAST_TIMEOUT',
    });
    const waiting = other.mutex('early').acquire();
    // the row is found to be locked at each attempt
    const look = async () => (await holder.inspect('early'))?.holders[0]?.label ?? '';
    await until(async () => /transaction/.test(await look()));
    await tx.query('COMMIT');
    await (await waiting).release();
  });

  it.each([
    ['released', (lease: Lease) => lease.release()],
    ['released by force', ({ key }: Lease) => database.instance().forceRelease(key)],
  ])('that is %s while another one waits is kept until the commit', async (how, end) => {
    const [holder, other] = [database.instance(), database.instance()];
    const lease = await holder.mutex(how).acquire();
    const tx = await begun();
    await guard(lease, tx);
    let next: Lease | undefined;
    const waiting = other.mutex(how).acquire();
    void waiting.then((got) => (next = got));
    await until(async () => (await holder.inspect(how))?.waiterCount === 1);
    await end(lease);
    const look = async () => (await holder.inspect(how))?.holders[0]?.label ?? '';
    await until(async () => /transaction/.test(await look()));
    expect(next).toBeUndefined();
    await tx.query('COMMIT');
    await (await waiting).release();
  });

  it('may be released after the transaction, and is free then', async () => {
    const holdfast = database.instance();
    for (let turn = 0; turn < 5; turn++) {
      const lease = await holdfast.mutex('usual').acquire();
      const tx = await begun();
      await guard(lease, tx);
      await tx.query('COMMIT');
      expect(await lease.release()).toBe('freed');
    }
  });
});

describe('guard', () => {
  it.each(['a\0b', 'a\u001eb', 'a%b'])('takes a key with a rare character: %j', async (key) => {
    const lease = await database.instance().mutex(key).acquire();
    await guard(lease, await begun());
    await lease.release();
  });

  it('refuses a lease that has ended', async () => {
    const { tx, lease } = await paused('ended', false);
    await until(() => !lease.held);
    const next = await database.instance().mutex('ended').acquire({ wait: 10_000 });
    await expect(guard(lease, tx)).rejects.toMatchObject({ code: 'HOLDFAST_LOST' });
    await guard(next, await begun());
  });

  it('refuses one that was taken over while it waited for the row', async () => {
    const holdfast = database.instance();
    const lease = await holdfast.mutex('between').acquire();
    const row = 'holdfast:lock:between';
    const taker = await begun();
    await taker.query('SELECT 1 FROM holdfast_locks WHERE key = $1 FOR UPDATE', [row]);
    await taker.query(
      "UPDATE holdfast_locks SET version = gen_random_uuid(), state = '' WHERE key = $1",
      [row],
    );
    const refused = guard(lease, await begun());
    void refused.catch(() => undefined);
    const waits = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
    await until(async () => (await database.watcher.query(waits)).rowCount === 1);
    await taker.query('COMMIT');
    await expect(refused).rejects.toMatchObject({ code: 'HOLDFAST_LOST' });
  });

  it('refuses a pool, and a client without a transaction', async () => {
    const lease = await database.instance().mutex('no tx').acquire();
    const wrong = { code: 'HOLDFAST_BAD_OPTION', option: 'tx' };
    await expect(guard(lease, database.pool())).rejects.toMatchObject(wrong);
    await expect(guard(lease, await database.client())).rejects.toMatchObject(wrong);
    await expect(guard(lease, {} as never)).rejects.toMatchObject(wrong);
  });

  it('refuses a lease that does not exclude others', async () => {
    const holdfast = database.instance();
    const refused = async (lease: Lease): Promise<void> => {
      const tx = await begun();
      await expect(guard(lease, tx)).rejects.toMatchObject({ code: 'HOLDFAST_REFUSED' });
      await tx.query('ROLLBACK');
    };
    await refused(await holdfast.semaphore('permits', { permits: 2 }).acquire());
    const reader = await holdfast.rwLock('read').read.acquire();
    await refused(reader);
    await reader.release();
    const writer = await holdfast.rwLock('read').write.acquire();
    await guard(writer, await begun());
  });

  it('takes a task that got the lock inside of its process', async () => {
    const holdfast = database.instance();
    const first = await holdfast.mutex('local').acquire();
    const waiting = holdfast.mutex('local').acquire();
    await first.release();
    const second = await waiting;
    await guard(second, await begun());
    await expect(guard(first, await begun())).rejects.toMatchObject({ code: 'HOLDFAST_LOST' });
  });

  it('a lease with another prefix or table needs the options', async () => {
    await createTable(database.watcher, { table: 'guarded' });
    const holdfast = database.instance({ prefix: 'app:' }, { table: 'guarded' });
    const lease = await holdfast.mutex('own').acquire();
    for (const options of [{}, { table: 'guarded' }, { prefix: 'app:' }]) {
      await expect(guard(lease, await begun(), options)).rejects.toMatchObject({
        ...{ code: 'HOLDFAST_BAD_OPTION', option: 'table' },
        message: expect.stringMatching(/"table".*"prefix".*another store/),
      });
    }
    await guard(lease, await begun(), { table: 'guarded', prefix: 'app:' });
    await lease.release();
    await expect(guard(lease, await begun())).rejects.toMatchObject({ code: 'HOLDFAST_LOST' });
  });

  it('refuses what is no lease of one lock', async () => {
    const all = await database.instance().allOf(['all:1', 'all:2']).acquire();
    for (const given of [undefined, null, all]) {
      await expect(guard(given as never, await begun())).rejects.toMatchObject({
        ...{ code: 'HOLDFAST_BAD_OPTION', option: 'lease' },
      });
    }
  });

  it('tells errors of the server by codes of its own, but not a lost race', async () => {
    const lease = await database.instance().mutex('told').acquire();
    const failing = async (text: string, options?: object): Promise<unknown> => {
      const tx = await database.client();
      await tx.query(text);
      await tx.query('SELECT 1 FROM nowhere').catch(() => undefined);
      return guard(lease, tx, options).catch((error: unknown) => error);
    };
    expect(await failing('SELECT', { table: 'nowhere' })).toMatchObject({
      ...{ code: 'HOLDFAST_REFUSED', cause: { code: '42P01' } },
      message: expect.stringContaining("createTable(pool, { table: 'nowhere' })"),
    });
    expect(await failing('BEGIN')).toMatchObject({
      ...{ code: 'HOLDFAST_UNREACHABLE', cause: { code: '25P02' } },
    });
    expect(await failing('SET default_transaction_read_only = on')).toMatchObject({
      ...{ code: 'HOLDFAST_UNREACHABLE', cause: { code: '25006' } },
      message: expect.stringContaining('READ ONLY'),
    });
    const lost = Object.assign(new Error('could not serialize'), { code: '40001' });
    await expect(guard(lease, async () => Promise.reject(lost))).rejects.toBe(lost);
  });

  it('works with postgres.js, PGlite and a function', { timeout: paced(30_000) }, async () => {
    const sql = postgresJs({ ...database.server.connection, max: 2 });
    database.later(() => sql.end());
    const holdfast = database.instance();
    const lease = await holdfast.mutex('js').acquire();
    await sql.begin((tx) => guard(lease, tx));
    const tx = await begun();
    await guard(lease, (text, values) => tx.query(text, values));
    const db = new PGlite();
    database.later(() => db.close());
    await createTable(db);
    const inside = database.add(new Holdfast(postgres(db)));
    const own = await inside.mutex('lite').acquire();
    await db.transaction((transaction) => guard(own, transaction));
  });
});

// it keeps the row locked until its commit, which takes long with a standby or a slow disk
it('a change that lost its race is no guard', async () => {
  const settings = settingsOf({});
  const driver = driverFor(database.pool(), settings);
  const register = new PostgresRegister({ driver, ...settings });
  const change = { state: 'a', forgetAt: Number.MAX_SAFE_INTEGER, messages: [] };
  await register.swap('late', '0', change);
  const { version: old } = await register.read('late');
  const [winner, loser] = [await begun(), await begun()];
  const set = "UPDATE holdfast_locks SET version = gen_random_uuid() WHERE key = 'late'";
  await winner.query(set);
  const losing = loser.query(`${set} AND version = $1`, [old]);
  const waits = "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
  await until(async () => (await database.watcher.query(waits)).rowCount === 1);
  await winner.query('COMMIT');
  expect((await losing).rowCount).toBe(0);

  const { version } = await register.read('late');
  expect(await register.swap('late', version, change)).toBe(false);
  expect(await register.read('late')).toMatchObject({ version });
  expect(await register.swap('late', version, change)).toBe(false);
  expect(await register.read('late')).not.toHaveProperty('heldBack');
  await loser.query('COMMIT');
  expect(await register.swap('late', version, change)).toHaveProperty('version');

  const guarding = await begun();
  await guarding.query("SELECT FROM holdfast_locks WHERE key = 'late' FOR KEY SHARE");
  const { version: last } = await register.read('late');
  expect(await register.swap('late', last, change)).toBe(false);
  expect(await register.read('late')).toMatchObject({ version: last, heldBack: true });
  await guarding.query('COMMIT');
  await register.close();
});
