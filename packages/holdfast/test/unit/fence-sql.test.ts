/** The SQL of docs/fences.md and of `holdfast/fence`, on PostgreSQL (compiled to WebAssembly). */
import { readFileSync } from 'node:fs';
import { PGlite } from '@electric-sql/pglite';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { postgres } from '../../src/entries/fence.js';

const page = readFileSync(new URL('../../../../docs/fences.md', import.meta.url), 'utf8');
const readme = readFileSync(new URL('../../../../README.md', import.meta.url), 'utf8');
const statements = [...page.matchAll(/```sql\n([^`]+)```/g)].map(([, text]) => text as string);

/** Microseconds since 1970: above 2^32, below 2^53. */
const FENCE = 1_790_000_000_000_000;

let db: PGlite;
beforeAll(async () => {
  db = await PGlite.create();
  await db.exec(
    'CREATE TABLE invoices (id int PRIMARY KEY, paid boolean, fence BIGINT NOT NULL DEFAULT 0)',
  );
  await db.exec(postgres.createTable);
  await db.exec(postgres.createTable);
});
afterAll(() => db.close());
beforeEach(async () => {
  await db.exec('DELETE FROM invoices; INSERT INTO invoices (id, paid) VALUES (42, false)');
  await db.exec('DELETE FROM holdfast_fences');
});

const affected = async (text: string, values: unknown[]): Promise<number | undefined> =>
  (await db.query(text, values)).affectedRows;

it('the README has the statement of the page', () => {
  expect(statements).toHaveLength(2);
  expect(readme).toContain(statements[0]);
});

describe.each(statements.map((text) => [text.split(' ', 1)[0], text] as const))('%s', (_, text) => {
  it('accepts the first, an equal and a greater fence, and refuses a smaller one', async () => {
    expect(await affected(text, [FENCE])).toBe(1);
    expect(await affected(text, [FENCE])).toBe(1);
    expect(await affected(text, [FENCE + 1])).toBe(1);
    expect(await affected(text, [FENCE])).toBe(0);
    const { rows } = await db.query<{ fence: unknown }>('SELECT fence FROM invoices');
    expect(Number(rows[0]?.fence)).toBe(FENCE + 1);
  });

  // the statement that the README had once
  it('would refuse the second write of a lease with "<" instead of "<="', async () => {
    const wrong = text.replace('<=', '<');
    expect(await affected(wrong, [FENCE])).toBe(1);
    expect(await affected(wrong, [FENCE])).toBe(0);
  });
});

describe('postgres.advance', () => {
  const advance = (name: string, fence: number): Promise<number | undefined> =>
    affected(postgres.advance, [name, fence]);

  it('accepts the first, an equal and a greater fence, and refuses a smaller one', async () => {
    expect(await advance('a', FENCE)).toBe(1);
    expect(await advance('a', FENCE)).toBe(1);
    expect(await advance('a', FENCE + 1)).toBe(1);
    expect(await advance('a', FENCE)).toBe(0);
    expect(await advance('b', FENCE)).toBe(1);
  });

  it('a transaction that rolls back leaves the earlier fence', async () => {
    await advance('a', FENCE);
    await db.exec('BEGIN');
    await advance('a', FENCE + 5);
    await db.exec('ROLLBACK');
    expect(await advance('a', FENCE + 1)).toBe(1);
  });
});
