/** The statements of `holdfast/fence` for MySQL through mysql2, on a MariaDB server. */
import { readFileSync } from 'node:fs';
import { type MariaDb, startMariaDb } from 'holdfast-testkit';
import {
  type Connection,
  createConnection,
  type ResultSetHeader,
  type RowDataPacket,
} from 'mysql2/promise';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { mysql } from '../../src/fence.js';

/** Microseconds since 1970: above 2^32, below 2^53. */
const FENCE = 1_790_000_000_000_000;
const page = readFileSync(new URL('../../../../docs/fences.md', import.meta.url), 'utf8');

let server: MariaDb;
let first: Connection;
let second: Connection;

beforeAll(async () => {
  server = await startMariaDb();
  const { socketPath } = server;
  first = await createConnection({ socketPath });
  await first.query('CREATE DATABASE fences');
  await first.changeUser({ database: 'fences' });
  second = await createConnection({ socketPath, database: 'fences' });
  await first.query(mysql.createTable);
  await first.query(mysql.createTable);
}, 400_000);
afterAll(async () => {
  first?.destroy();
  second?.destroy();
  await server?.[Symbol.asyncDispose]();
});
beforeEach(() => first.query('DELETE FROM holdfast_fences'));
// a failed test leaves its transactions
afterEach(() => Promise.all([first.rollback(), second.rollback()]));

/** Both statements of the recipe; true if the writes are accepted. */
async function accepted(on: Connection, name: string, fence: number): Promise<boolean> {
  await on.execute(mysql.advance, [name, fence]);
  const [rows] = await on.execute<RowDataPacket[]>(mysql.accepted, [name, fence]);
  return rows.length === 1;
}

async function transaction(on: Connection, name: string, fence: number): Promise<boolean> {
  await on.beginTransaction();
  const good = await accepted(on, name, fence);
  await (good ? on.commit() : on.rollback());
  return good;
}

it('accepts the first, an equal and a greater fence, and refuses a smaller one', async () => {
  expect(await transaction(first, 'a', FENCE)).toBe(true);
  expect(await transaction(first, 'a', FENCE)).toBe(true);
  expect(await transaction(second, 'a', FENCE + 1)).toBe(true);
  expect(await transaction(first, 'a', FENCE)).toBe(false);
  expect(await transaction(first, 'A', FENCE)).toBe(true);
  const [rows] = await first.query('SELECT CAST(name AS CHAR) AS name, fence FROM holdfast_fences');
  expect(rows).toEqual([
    { name: 'A', fence: FENCE },
    { name: 'a', fence: FENCE + 1 },
  ]);
});

it('an earlier holder that comes during a transaction waits, and is refused', async () => {
  await transaction(first, 'a', FENCE);
  // its snapshot is older than the other transaction
  await second.query('START TRANSACTION WITH CONSISTENT SNAPSHOT');
  await first.beginTransaction();
  expect(await accepted(first, 'a', FENCE + 5)).toBe(true);
  let done = false;
  const late = accepted(second, 'a', FENCE + 1).finally(() => (done = true));
  const waiting = 'SELECT 1 FROM information_schema.innodb_trx WHERE trx_state = "LOCK WAIT"';
  const rows = (): Promise<unknown> => first.query(waiting).then(([found]) => found);
  // the server does not refresh this table while it is read more often than each 0.1 s
  await expect.poll(rows, { timeout: 20_000, interval: 250 }).toHaveLength(1);
  expect(done).toBe(false);
  await first.commit();
  expect(await late).toBe(false);
  await second.rollback();
});

it('a transaction that rolls back leaves the earlier fence', async () => {
  await transaction(first, 'a', FENCE);
  await first.beginTransaction();
  expect(await accepted(first, 'a', FENCE + 5)).toBe(true);
  await first.rollback();
  expect(await transaction(second, 'a', FENCE + 1)).toBe(true);
});

it('negative control: without FOR UPDATE, a stale snapshot accepts an earlier holder', async () => {
  await transaction(first, 'a', FENCE + 1);
  await second.query('START TRANSACTION WITH CONSISTENT SNAPSHOT');
  await transaction(first, 'a', FENCE + 5);
  await second.execute(mysql.advance, ['a', FENCE + 1]);
  const stale = mysql.accepted.replace(' FOR UPDATE', '');
  const [rows] = await second.execute<RowDataPacket[]>(stale, ['a', FENCE + 1]);
  expect(rows).toHaveLength(1);
  await second.rollback();
});

describe('one row', () => {
  const update = 'UPDATE invoices SET paid = true, fence = ? WHERE id = 42 AND fence <= ?';

  it('counts an equal fence as accepted, because mysql2 counts matching rows', async () => {
    expect(page).toContain(update);
    await first.query('CREATE TABLE invoices (id INT PRIMARY KEY, paid BOOLEAN, fence BIGINT)');
    await first.query('INSERT INTO invoices VALUES (42, false, 0)');
    const write = async (fence: number): Promise<number> => {
      const [{ affectedRows }] = await first.execute<ResultSetHeader>(update, [fence, fence]);
      return affectedRows;
    };
    expect(await write(FENCE)).toBe(1);
    expect(await write(FENCE)).toBe(1);
    expect(await write(FENCE + 1)).toBe(1);
    expect(await write(FENCE)).toBe(0);
  });
});
