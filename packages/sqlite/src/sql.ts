/**
 * The statements. None of those that change something has `RETURNING`: a client that reads one row
 * ends the statement without an error even if its commit fails.
 */

/** The most rows of one step of a scan or a sweep. */
export const ROWS = 500;

/** Marks a file of this package: "Hfst" in ASCII. */
export const APPLICATION_ID = 0x48667374;
/** The version of the tables. */
export const FORMAT = 1;

export const CREATION: string = `
CREATE TABLE holdfast_locks (
  key TEXT PRIMARY KEY,
  version TEXT NOT NULL,
  state TEXT NOT NULL,
  forget_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE holdfast_boots (boot TEXT PRIMARY KEY, origin INTEGER NOT NULL) WITHOUT ROWID;
PRAGMA application_id = ${APPLICATION_ID};
PRAGMA user_version = ${FORMAT};`;

/** A state begins with a number, a space, and the time at which it was made, in microseconds. */
export const LATEST = `SELECT max(CAST(substr(state, instr(state, ' ') + 1) AS INTEGER)) AS latest
FROM holdfast_locks`;

/** The end of the version of an `overtake`. */
const OVERTAKING = '!';

const ROW = 'key, version, state, forget_at AS forgetAt';

export interface Texts<T> {
  readonly read: T;
  /** A first state. */
  readonly insert: T;
  readonly update: T;
  /** Only changes the version, but not one that it made itself. */
  readonly overtake: T;
  /** The rows from a key on, without one of them, in the order of code points. */
  readonly scan: T;
  /** The rows behind a key. */
  readonly sweepable: T;
  readonly sweep: T;
  /** The key of the row with a number, from 0 on. */
  readonly keyAt: T;
  readonly count: T;
}

export const STATEMENTS: Texts<string> = {
  read: `SELECT ${ROW} FROM holdfast_locks WHERE key = ?`,
  insert: `INSERT INTO holdfast_locks (key, version, state, forget_at) VALUES (?, ?, ?, ?)
ON CONFLICT DO NOTHING`,
  update: `UPDATE holdfast_locks SET version = ?, state = ?, forget_at = ?
WHERE key = ? AND version = ?`,
  overtake: `UPDATE holdfast_locks SET version = ? || '${OVERTAKING}'
WHERE key = ? AND version NOT LIKE '%${OVERTAKING}'`,
  scan: `SELECT ${ROW} FROM holdfast_locks WHERE key >= ? AND key <> ? ORDER BY key LIMIT ${ROWS}`,
  sweepable: `SELECT key, forget_at AS forgetAt FROM holdfast_locks WHERE key > ?
ORDER BY key LIMIT ${ROWS}`,
  sweep: 'DELETE FROM holdfast_locks WHERE key = ? AND forget_at <= ?',
  keyAt: 'SELECT key FROM holdfast_locks ORDER BY key LIMIT 1 OFFSET ?',
  count: 'SELECT count(*) AS count FROM holdfast_locks',
};

export interface Row {
  readonly key: string;
  readonly version: string;
  readonly state: string;
  readonly forgetAt: number;
}
