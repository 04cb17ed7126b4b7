/**
 * The statements of `holdfast/fence` through the clients of docs/fences.md: pg, Drizzle, Knex and
 * Prisma, over the wire. The server is PostgreSQL, compiled to WebAssembly: it has one session, so
 * the transactions of two clients run one after the other.
 */
import { PGlite } from '@electric-sql/pglite';
import { PGLiteSocketServer } from '@electric-sql/pglite-socket';
import { sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import knex, { type Knex } from 'knex';
import { Pool } from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { fragment, postgres } from '../../src/entries/fence.js';
import { Prisma, prismaClient } from '../support/prisma.js';

/** Microseconds since 1970: above 2^32, below 2^53. */
const FENCE = 1_790_000_000_000_000;
const NAME = 'invoice:42';

/** Runs `advance` with each fence in a transaction of its own; the numbers of affected rows. */
type Advance = (fences: readonly number[]) => Promise<unknown[]>;

let db: PGlite;
let server: PGLiteSocketServer;
let connection: { host: string; port: number; user: string; password: string; database: string };

beforeAll(async () => {
  db = await PGlite.create();
  server = new PGLiteSocketServer({ db, host: '127.0.0.1', port: 0, maxConnections: 4 });
  await server.start();
  const [host = '', port] = server.getServerConn().split(':');
  const database = 'postgres';
  connection = { host, port: Number(port), user: 'postgres', password: 'unused', database };
}, 120_000);
afterAll(async () => {
  await server.stop();
  await db.close();
});
beforeEach(async () => {
  await db.exec(`DROP TABLE IF EXISTS holdfast_fences; ${postgres.createTable}`);
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
    const { rows } = await db.query('SELECT name, fence::text AS fence FROM holdfast_fences');
    expect(rows).toEqual([{ name: NAME, fence: `${FENCE + 1}` }]);
  });
});

it('pg returns a fence as a string', async () => {
  await pg([FENCE]);
  const pool = new Pool({ ...connection, max: 1 });
  const { rows } = await pool.query('SELECT fence FROM holdfast_fences');
  expect(rows).toEqual([{ fence: `${FENCE}` }]);
  await pool.end();
});

it('negative control: with "<" the second write of a lease is refused', async () => {
  const wrong = postgres.advance.replace('<=', '<');
  const pool = new Pool({ ...connection, max: 1 });
  const rows = await inTurn([FENCE, FENCE], async (fence) => {
    return (await pool.query(wrong, [NAME, fence])).rowCount;
  });
  await pool.end();
  expect(rows).toEqual([1, 0]);
});
