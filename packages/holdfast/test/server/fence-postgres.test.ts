/**
 * The statements of `holdfast/fence` through the clients of docs/fences.md: pg, Drizzle, Knex and
 * Prisma, on a PostgreSQL server.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import { paced, type Postgres, startPostgres, until } from 'holdfast-testkit';
import knex, { type Knex } from 'knex';
import { Client, Pool } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { fragment, postgres } from '../../src/fence.js';
import { Prisma, prismaClient } from '../support/prisma.js';

/** Microseconds since 1970: above 2^32, below 2^53. */
const FENCE = 1_790_000_000_000_000;
const NAME = 'invoice:42';

const page = readFileSync(new URL('../../../../docs/fences.md', import.meta.url), 'utf8');
const readme = readFileSync(new URL('../../../../README.md', import.meta.url), 'utf8');
const statements = [...page.matchAll(/```sql\n([^`]+)```/g)].map(([, text]) => text as string);

/** Runs `advance` with each fence in a transaction of its own; the numbers of affected rows. */
type Advance = (fences: readonly number[]) => Promise<unknown[]>;

let server: Postgres;
let connection: Postgres['connection'];
let first: Client;
let second: Client;
/** Never in a transaction. */
let watcher: Client;
const open = (): Client[] => [first, second, watcher];

beforeAll(async () => {
  server = await startPostgres();
  connection = server.connection;
  first = new Client(connection);
  second = new Client(connection);
  watcher = new Client(connection);
  await Promise.all(open().map((client) => client.connect()));
  await first.query(
    'CREATE TABLE invoices (id int PRIMARY KEY, paid boolean, fence BIGINT NOT NULL DEFAULT 0)',
  );
  await first.query(postgres.createTable);
  await first.query(postgres.createTable);
}, 120_000);
afterAll(async () => {
  await Promise.all(open().map((client) => client?.end()));
  await server?.[Symbol.asyncDispose]();
});
beforeEach(async () => {
  await first.query('DELETE FROM invoices; INSERT INTO invoices (id, paid) VALUES (42, false)');
  await first.query('DELETE FROM holdfast_fences');
});
// a failed test leaves its transactions
afterEach(() => Promise.all([first.query('ROLLBACK'), second.query('ROLLBACK')]));

it('two processes may create the table at the same time', async () => {
  const create = async (statement: string): Promise<void> => {
    await watcher.query('DROP TABLE holdfast_fences');
    await first.query('BEGIN');
    await first.query(postgres.createTable);
    const created = second.query(statement);
    void created.catch(() => undefined);
    // until the second one waits for the first one
    const waits = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
    await until(async () => (await watcher.query(waits)).rowCount === 1);
    await first.query('COMMIT');
    await created;
  };
  await create(postgres.createTable);
  // a control: the plain statement fails
  const plain = /CREATE TABLE[^;]+/.exec(postgres.createTable)?.[0] as string;
  await expect(create(plain)).rejects.toThrow(/pg_type_typname_nsp_index/);
});

async function inTurn(
  fences: readonly number[],
  one: (fence: number) => Promise<unknown>,
): Promise<unknown[]> {
  const results: unknown[] = [];
  for (const fence of fences) results.push(await one(fence));
  return results;
}

const pg: Advance = async (fences) => {
  const pool = new Pool({ ...connection, max: 1 });
  const client = await pool.connect();
  const results = await inTurn(fences, async (fence) => {
    await client.query('BEGIN');
    const { rowCount } = await client.query(postgres.advance, [NAME, fence]);
    await client.query('COMMIT');
    return rowCount;
  });
  client.release();
  await pool.end();
  return results;
};

const withDrizzle: Advance = async (fences) => {
  const pool = new Pool({ ...connection, max: 1 });
  const orm = drizzle(pool);
  const results = await inTurn(fences, (fence) =>
    orm.transaction(async (tx) => {
      const { rowCount } = await tx.execute(fragment(sql, postgres.advance, [NAME, fence]));
      return rowCount;
    }),
  );
  await pool.end();
  return results;
};

const withKnex: Advance = async (fences) => {
  const builder = knex({ client: 'pg', connection, pool: { min: 0, max: 1 } });
  const results = await inTurn(fences, (fence) =>
    builder.transaction(async (trx) => {
      const tag = (texts: TemplateStringsArray, ...values: Knex.RawBinding[]): Knex.Raw =>
        trx.raw(texts.join('?'), values);
      const { rowCount } = await fragment(tag, postgres.advance, [NAME, fence]);
      return rowCount;
    }),
  );
  await builder.destroy();
  return results;
};

const withPrisma: Advance = async (fences) => {
  const prisma = prismaClient({ ...connection, max: 1 });
  const results = await inTurn(fences, (fence) =>
    prisma.$transaction((tx) =>
      tx.$executeRaw(fragment(Prisma.sql, postgres.advance, [NAME, fence])),
    ),
  );
  await prisma.$disconnect();
  return results;
};

const withPrismaUnsafe: Advance = async (fences) => {
  const prisma = prismaClient({ ...connection, max: 1 });
  const results = await inTurn(fences, (fence) =>
    prisma.$transaction((tx) => tx.$executeRawUnsafe(postgres.advance, NAME, fence)),
  );
  await prisma.$disconnect();
  return results;
};

describe.each([
  ['pg', pg],
  ['Drizzle', withDrizzle],
  ['Knex', withKnex],
  ['Prisma', withPrisma],
  ['Prisma, with the text itself', withPrismaUnsafe],
] as const)('%s', (_, advance) => {
  it('accepts the first, an equal and a greater fence, and refuses a smaller one', async () => {
    const results = await advance([FENCE, FENCE, FENCE + 1, FENCE, FENCE + 1]);
    expect(results).toEqual([1, 1, 1, 0, 1]);
    const { rows } = await first.query('SELECT name, fence::text AS fence FROM holdfast_fences');
    expect(rows).toEqual([{ name: NAME, fence: `${FENCE + 1}` }]);
  });
});

it('the generated client is of the version of Prisma that is installed', () => {
  const { version } = createRequire(import.meta.url)('@prisma/client/package.json');
  expect(Prisma.prismaVersion.client).toBe(version);
});

const affected = async (on: Client, text: string, values: unknown[]): Promise<number | null> =>
  (await on.query(text, values)).rowCount;

it('the README has the statement of the page', () => {
  expect(statements).toHaveLength(2);
  expect(readme).toContain(statements[0]);
});

describe.each(statements.map((text) => [text.split(' ', 1)[0], text] as const))('%s', (_, text) => {
  it('accepts an equal and a greater fence for one row, and refuses a smaller one', async () => {
    const results = await inTurn([FENCE, FENCE, FENCE + 1, FENCE], (fence) =>
      affected(first, text, [fence]),
    );
    expect(results).toEqual([1, 1, 1, 0]);
    const { rows } = await first.query('SELECT fence FROM invoices');
    expect(rows).toEqual([{ fence: `${FENCE + 1}` }]);
  });

  // the statement that the README had once
  it('would refuse the second write of a lease with "<" instead of "<="', async () => {
    const wrong = text.replace('<=', '<');
    expect(await affected(first, wrong, [FENCE])).toBe(1);
    expect(await affected(first, wrong, [FENCE])).toBe(0);
  });
});

it('has a fence for each name', async () => {
  expect(await affected(first, postgres.advance, ['a', FENCE + 1])).toBe(1);
  expect(await affected(first, postgres.advance, ['b', FENCE])).toBe(1);
});

it('pg returns a fence as a string', async () => {
  await pg([FENCE]);
  const { rows } = await first.query('SELECT fence FROM holdfast_fences');
  expect(rows).toEqual([{ fence: `${FENCE}` }]);
});

it('negative control: with "<" the second write of a lease is refused', async () => {
  const wrong = postgres.advance.replace('<=', '<');
  const rows = await inTurn([FENCE, FENCE], async (fence) => {
    return (await first.query(wrong, [NAME, fence])).rowCount;
  });
  expect(rows).toEqual([1, 0]);
});

describe('an earlier holder that comes during a transaction', () => {
  const advance = (client: Client, fence: number): Promise<number | null> =>
    affected(client, postgres.advance, [NAME, fence]);

  /** Begins the write of an earlier holder, and returns when it waits for the row. */
  async function late(fence: number): Promise<Promise<number | null>[]> {
    await second.query('BEGIN');
    const write = advance(second, fence);
    const waiting = 'SELECT 1 FROM pg_locks WHERE NOT granted';
    const rows = (): Promise<unknown> => watcher.query(waiting).then((found) => found.rows);
    await expect.poll(rows, { timeout: paced(20_000) }).toHaveLength(1);
    return [write];
  }

  it('waits, and is refused', async () => {
    await advance(first, FENCE);
    await first.query('BEGIN');
    expect(await advance(first, FENCE + 5)).toBe(1);
    const [write] = await late(FENCE + 1);
    await first.query('COMMIT');
    expect(await write).toBe(0);
  });

  it('waits, and is refused, also if the row is new', async () => {
    await first.query('BEGIN');
    expect(await advance(first, FENCE + 5)).toBe(1);
    const [write] = await late(FENCE + 1);
    await first.query('COMMIT');
    expect(await write).toBe(0);
  });

  it('waits, and is accepted after a rollback', async () => {
    await advance(first, FENCE);
    await first.query('BEGIN');
    expect(await advance(first, FENCE + 5)).toBe(1);
    const [write] = await late(FENCE + 1);
    await first.query('ROLLBACK');
    expect(await write).toBe(1);
  });

  it('negative control: a check without a lock on the row accepts it', async () => {
    await advance(first, FENCE);
    await first.query('BEGIN');
    await advance(first, FENCE + 5);
    const check = 'SELECT 1 FROM holdfast_fences WHERE name = $1 AND fence <= $2';
    expect((await second.query(check, [NAME, FENCE + 1])).rowCount).toBe(1);
    await first.query('COMMIT');
  });
});
