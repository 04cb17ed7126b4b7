/**
 * The statements. All of them run by themselves, as one transaction each, and none is a named
 * prepared statement, so they work behind a pooler that gives each transaction another connection.
 *
 * - A version is a random UUID that the client makes. It is never used again, also after a
 *   fail-over or from a restored backup, where a sequence would give the same numbers again.
 * - The clock is `clock_timestamp()`: `now()` is the beginning of the transaction.
 * - A change takes the row lock of an UPDATE without changed keys (`FOR NO KEY UPDATE`). A change
 *   that makes a grant takes that of `FOR UPDATE` before. Only the second one conflicts with the
 *   `FOR KEY SHARE` of a guard: see guard.ts.
 */

import type { Row } from './driver.js';

/** The default of the option `table`. */
export const TABLE = 'holdfast_locks';

/** The most rows of one statement of a scan. */
export const SCAN_ROWS = 500;

/** The digit of a UUID that marks the version of an `overtake`; of a random one it is 4. */
export const OVERTAKING = '8';

const STANDBY = 'pg_is_in_recovery()::text AS standby';

/** True if a read was answered by a standby, which may be behind. */
export const isOfStandby = ([first]: readonly Row[]): boolean => first?.['standby'] === 'true';

/**
 * A condition that is true, and ends the statement with 55P03 after a wait of 100 ms for the lock
 * of its row: other keys use the same connection.
 */
const BRIEF = "set_config('lock_timeout', '100', true) IS NOT NULL";

const CLOCK = '(extract(epoch FROM clock_timestamp()) * 1000000)::bigint::text AS time';

export interface Statements {
  readonly read: string;
  /** A read after a grant of the version `$2` failed: does a guard hold it back? */
  readonly readHeld: string;
  readonly readMany: string;
  /** A read that changes the version, but not one that it made itself. */
  readonly overtake: string;
  /** A first state. */
  readonly insert: string;
  /** A change without a grant. */
  readonly update: string;
  /** A change that makes a grant. */
  readonly grant: string;
  readonly updateAndTell: string;
  readonly grantAndTell: string;
  readonly insertAndTellMany: string;
  readonly updateAndTellMany: string;
  readonly grantAndTellMany: string;
  readonly swapMany: string;
  readonly scan: string;
  readonly sweep: string;
  /** Keeps the key from a new holder until the transaction ends. */
  readonly guard: string;
}

/** Of the transaction of the statement: no id if it has changed and locked nothing. */
export const IN_TRANSACTION = 'SELECT pg_current_xact_id_if_assigned()::text AS id';

/** The name of a table as a text of SQL: quoted, with the schema if there is one. */
export function quoted(table: string): string {
  return table
    .split('.')
    .map((part) => `"${part}"`)
    .join('.');
}

const TELL = `sent AS MATERIALIZED (
  SELECT pg_notify(m.channel, m.text)
  FROM changed, unnest($6::text::text[], $7::text::text[]) AS m(channel, text)
)`;
// a common table expression that nothing reads is not executed
const TOLD = `SELECT ${CLOCK}, (SELECT count(*) FROM sent)::text AS sent FROM changed`;

/** A change that also sends the message `$7` to the channel `$6`. */
const andTell = (change: string): string =>
  `${change}, pg_notify($6::text, $7::text)::text AS sent`;
/** A change that also sends the messages `$6` (channels) and `$7` (texts). */
const andTellMany = (change: string): string => `WITH changed AS (${change}), ${TELL} ${TOLD}`;

/** @param table the quoted name of the table */
export function statements(table: string): Statements {
  const set = 'SET version = $3::text::uuid, state = $4::text, forget_at = $5::text::bigint';
  const same = 'key = $1::text AND version = $2::text::uuid';
  const insert = `INSERT INTO ${table} (key, version, state, forget_at)
SELECT $1::text, $3::text::uuid, $4::text, $5::text::bigint WHERE $2::text = '0'
ON CONFLICT (key) DO NOTHING RETURNING ${CLOCK}`;
  const update = `UPDATE ${table} ${set} WHERE ${same} AND ${BRIEF} RETURNING ${CLOCK}`;
  const grant = `UPDATE ${table} AS l ${set} FROM (
  SELECT ctid FROM ${table} WHERE ${same} FOR UPDATE SKIP LOCKED
) AS held WHERE l.ctid = held.ctid RETURNING ${CLOCK}`;
  return {
    ...{ insert, update, grant },
    updateAndTell: andTell(update),
    grantAndTell: andTell(grant),
    insertAndTellMany: andTellMany(insert),
    updateAndTellMany: andTellMany(update),
    grantAndTellMany: andTellMany(grant),
    read: `SELECT l.state, l.version::text AS version, l.forget_at::text AS forget_at, ${CLOCK},
  ${STANDBY}
FROM (SELECT 1) AS always LEFT JOIN ${table} AS l ON l.key = $1::text`,
    // a lock against other writers, so the second one can only miss because of a guard
    readHeld: `WITH writable AS MATERIALIZED (
  SELECT key FROM ${table} WHERE ${same} FOR NO KEY UPDATE SKIP LOCKED
), free AS MATERIALIZED (
  SELECT key FROM ${table} WHERE key IN (SELECT key FROM writable) FOR UPDATE SKIP LOCKED
)
SELECT l.state, l.version::text AS version, l.forget_at::text AS forget_at, ${CLOCK},
  ${STANDBY}, (w.key IS NOT NULL AND f.key IS NULL)::text AS guarded
FROM (SELECT 1) AS always LEFT JOIN ${table} AS l ON l.key = $1::text
LEFT JOIN writable AS w ON true LEFT JOIN free AS f ON true`,
    overtake: `UPDATE ${table} SET version = $2::text::uuid
WHERE key = $1::text AND substr(version::text, 15, 1) <> '${OVERTAKING}' AND ${BRIEF}
RETURNING state, version::text AS version, forget_at::text AS forget_at, ${CLOCK}`,
    readMany: `SELECT a.n::text AS n, l.state, l.version::text AS version,
  l.forget_at::text AS forget_at, ${CLOCK}, ${STANDBY}
FROM unnest($1::text::text[]) WITH ORDINALITY AS a(key, n)
LEFT JOIN ${table} AS l ON l.key = a.key`,
    swapMany: swapMany(table),
    scan: `SELECT l.key, l.state, l.version::text AS version, l.forget_at::text AS forget_at,
  ${CLOCK}, ${STANDBY}
FROM (SELECT 1) AS always LEFT JOIN (
  SELECT * FROM ${table}
  WHERE key >= $1::text AND key > $2::text AND ($3::text = '' OR key < $3::text)
  ORDER BY key LIMIT ${SCAN_ROWS}
) AS l ON true ORDER BY l.key`,
    sweep: `WITH old AS MATERIALIZED (
  SELECT key FROM ${table}
  WHERE forget_at <= (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
  LIMIT 1000 FOR UPDATE SKIP LOCKED
) DELETE FROM ${table} AS l USING old WHERE l.key = old.key`,
    guard: `SELECT state, ${CLOCK} FROM ${table} WHERE key = $1::text FOR KEY SHARE`,
  };
}

/**
 * Changes many keys. All rows are locked in the order of their keys, so that two of these
 * statements cannot wait for each other, and a row that another statement changes now is left out:
 * that race is lost anyway. `$1` to `$6` belong together; `$7` to `$9` are the messages, each with
 * the number of its key.
 */
function swapMany(table: string): string {
  return `WITH asked AS MATERIALIZED (
  SELECT * FROM unnest($1::text::text[], $2::text::text[], $3::text::uuid[], $4::text::text[],
    $5::text::bigint[], $6::text::bool[])
  WITH ORDINALITY AS a(key, old, new, state, forget_at, grants, n)
), free AS MATERIALIZED (
  SELECT l.key FROM ${table} AS l JOIN asked AS a ON l.key = a.key
  WHERE a.grants AND l.version::text = a.old ORDER BY l.key FOR UPDATE OF l SKIP LOCKED
), plain AS MATERIALIZED (
  SELECT l.key FROM ${table} AS l JOIN asked AS a ON l.key = a.key
  WHERE NOT a.grants AND l.version::text = a.old
  ORDER BY l.key FOR NO KEY UPDATE OF l SKIP LOCKED
), updated AS (
  UPDATE ${table} AS l SET version = a.new, state = a.state, forget_at = a.forget_at
  FROM (SELECT key FROM free UNION ALL SELECT key FROM plain) AS held JOIN asked AS a USING (key)
  WHERE l.key = held.key RETURNING a.n
), inserted AS (
  INSERT INTO ${table} (key, version, state, forget_at)
  SELECT key, new, state, forget_at FROM asked WHERE old = '0' ORDER BY key
  ON CONFLICT (key) DO NOTHING RETURNING key
), changed AS MATERIALIZED (
  SELECT n FROM updated
  UNION ALL SELECT a.n FROM inserted AS i JOIN asked AS a ON a.key = i.key
), sent AS MATERIALIZED (
  SELECT pg_notify(m.channel, m.text)
  FROM unnest($7::text::text[], $8::text::text[], $9::text::bigint[]) AS m(channel, text, n)
  JOIN changed AS c ON c.n = m.n
)
SELECT n::text AS n, ${CLOCK}, (SELECT count(*) FROM sent)::text AS sent FROM changed`;
}

/** An array as PostgreSQL reads it from a text. */
export function arrayOf(texts: readonly string[]): string {
  return `{${texts.map((one) => `"${one.replace(/[\\"]/g, '\\$&')}"`).join(',')}}`;
}

/**
 * A text without the character 0, which PostgreSQL cannot store, and without byte order marks,
 * which PGlite drops at the start of a text. Prefixes stay prefixes.
 */
export function escaped(text: string): string {
  if (!['%', '\0', '\ufeff'].some((one) => text.includes(one))) return text;
  return text.replaceAll('%', '%25').replaceAll('\0', '%00').replaceAll('\ufeff', '%FF');
}

export function unescaped(text: string): string {
  if (!text.includes('%')) return text;
  return text.replaceAll('%FF', '\ufeff').replaceAll('%00', '\0').replaceAll('%25', '%');
}

/**
 * The first text behind all texts with a prefix, in the order of code points, which is that of the
 * column; `''` if there is none.
 */
export function behind(prefix: string): string {
  const points = Array.from(prefix, (one) => one.codePointAt(0) as number);
  while (points.at(-1) === 0x10_ffff) points.pop();
  const last = points.pop();
  if (last === undefined) return '';
  // no text has half of a surrogate pair
  return String.fromCodePoint(...points, last === 0xd7ff ? 0xe000 : last + 1);
}

/**
 * The SQL that creates the table, for a migration. It may run again, and in many processes at once.
 * @param table its name, with a schema if it is not in the first one of `search_path`
 */
export function creation(table: string): string {
  const name = quoted(table);
  const literal = `'${name}'`;
  return `DO $$ BEGIN
  IF to_regclass(${literal}) IS NULL THEN
    CREATE TABLE ${name} (
      key text COLLATE "C" PRIMARY KEY,
      version uuid NOT NULL,
      state text NOT NULL,
      forget_at bigint NOT NULL
    ) WITH (
      fillfactor = 50,
      autovacuum_vacuum_threshold = 200,
      autovacuum_vacuum_scale_factor = 0.05,
      autovacuum_vacuum_cost_delay = 0
    );
    ALTER TABLE ${name} ALTER COLUMN state SET STORAGE MAIN;
  END IF;
EXCEPTION WHEN unique_violation OR duplicate_table OR duplicate_object THEN NULL;
END $$`;
}
