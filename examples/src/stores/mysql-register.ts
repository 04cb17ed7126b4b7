/**
 * Locks on MySQL or MariaDB. docs/register.md tells what a register must do.
 *
 *     await createTable(pool);
 *     const holdfast = new Holdfast(register(new MysqlRegister(pool)));
 *
 * `packages/holdfast/test/server/mysql-register.test.ts` runs the contract of registers on it.
 */
import { randomUUID } from 'node:crypto';
import {
  type Change,
  type Register,
  RegisterError,
  type Scanned,
  type Swapped,
  type TimeLimit,
  type Versioned,
} from 'holdfast/register';
import type { Pool, ResultSetHeader, RowDataPacket } from 'mysql2/promise';

/** The version of a key without a row. All others are random, so none comes back. */
const NONE = 'none';
/** In UTC: a local time comes twice when summer time ends. */
const CLOCK = "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))";
const PAGE = 500;

export async function createTable(pool: Pool): Promise<void> {
  await pool.query(`CREATE TABLE IF NOT EXISTS holdfast_locks (
    name VARBINARY(1300) PRIMARY KEY,
    version CHAR(36) CHARACTER SET ascii NOT NULL,
    state MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    forget_at BIGINT NOT NULL
  ) ENGINE = InnoDB`);
}

export class MysqlRegister implements Register {
  readonly label: string = 'MySQL';
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  async read(key: string): Promise<Versioned> {
    const [row] = await this.#rows(
      `SELECT l.version, l.state, l.forget_at, ${CLOCK} AS time
       FROM (SELECT 1) AS always LEFT JOIN holdfast_locks AS l ON l.name = ?`,
      [Buffer.from(key)],
    );
    return versionedOf(row as RowDataPacket);
  }

  async swap(key: string, version: string, change: Change): Promise<Swapped> {
    const next = randomUUID();
    const name = Buffer.from(key);
    const values = [next, change.state, `${change.forgetAt}`, name];
    const columns = 'SET version = ?, state = ?, forget_at = ?';
    const count =
      version === NONE
        ? await this.#write(`INSERT INTO holdfast_locks ${columns}, name = ?`, values)
        : await this.#write(`UPDATE holdfast_locks ${columns} WHERE name = ? AND version = ?`, [
            ...values,
            version,
          ]);
    if (count === 0) return false;
    const [row] = await this.#rows(`SELECT ${CLOCK} AS time`, []);
    return { version: next, time: Number(row?.['time']) };
  }

  async *scan(prefix: string, within: TimeLimit): AsyncIterable<Scanned> {
    let last = Buffer.alloc(0);
    for (;;) {
      const rows = await within(
        this.#rows(
          `SELECT name, version, state, forget_at, ${CLOCK} AS time FROM holdfast_locks
           WHERE name > ? AND name >= ? ORDER BY name LIMIT ${PAGE}`,
          [last, Buffer.from(prefix)],
        ),
      );
      for (const row of rows) {
        last = row['name'] as Buffer<ArrayBuffer>;
        if (!last.toString().startsWith(prefix)) return;
        yield { key: last.toString(), found: versionedOf(row) };
      }
      if (rows.length < PAGE) return;
    }
  }

  /** Removes states that may be forgotten. Call it once in a while, for example each hour. */
  async sweep(): Promise<void> {
    await this.#write(`DELETE FROM holdfast_locks WHERE forget_at <= ${CLOCK} LIMIT 1000`, []);
  }

  async #rows(sql: string, values: (string | Buffer)[]): Promise<RowDataPacket[]> {
    try {
      const [rows] = await this.#pool.execute<RowDataPacket[]>(sql, values);
      return rows;
    } catch (error) {
      throw failureOf(error);
    }
  }

  /** The number of changed rows: 0 if another process was first. */
  async #write(sql: string, values: (string | Buffer)[]): Promise<number> {
    try {
      const [{ affectedRows }] = await this.#pool.execute<ResultSetHeader>(sql, values);
      return affectedRows;
    } catch (error) {
      if (LOST.has((error as { errno?: number }).errno ?? 0)) return 0;
      throw failureOf(error);
    }
  }
}

function versionedOf(row: RowDataPacket): Versioned {
  const time = Number(row['time']);
  const version = (row['version'] as string | null) ?? NONE;
  const isForgotten = version === NONE || Number(row['forget_at']) <= time;
  return { state: isForgotten ? '' : (row['state'] as string), version, time };
}

/** The row exists already; a deadlock; a row lock that took too long. Nothing was changed. */
const LOST: ReadonlySet<number> = new Set([1062, 1213, 1205]);
/** A missing right, and a table or a database that does not exist. Nothing was changed. */
const REFUSED: ReadonlySet<number> = new Set([1044, 1049, 1142, 1143, 1146]);

/** Every error that is not listed may come after the statement took effect. */
function failureOf(error: unknown): unknown {
  const { errno = 0, message } = error as { errno?: number; message: string };
  return REFUSED.has(errno) ? new RegisterError('refused', message, { cause: error }) : error;
}
