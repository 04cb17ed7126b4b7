/** Findings about the server, for `Holdfast.doctor`. */
import type { Finding } from 'holdfast/register';
import type { Row } from './driver.js';

/** A transaction that is open for so long keeps many old versions of hot rows, in seconds. */
const LONG_S = 60;

/**
 * `$1` is the quoted name of the table. Without the rights of `pg_read_all_stats`, transactions of
 * other users are not seen.
 */
export const EXAMINATION = `SELECT current_database() AS name,
  current_setting('fsync') AS fsync,
  current_setting('synchronous_commit') AS commits,
  current_setting('synchronous_standby_names') AS names,
  (SELECT count(*) FROM pg_stat_replication)::text AS standbys,
  pg_is_in_recovery()::text AS standby,
  to_regclass($1::text)::text AS found,
  (SELECT count(*) FROM pg_index AS i JOIN pg_attribute AS a
    ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0] AND a.attname = 'key'
    WHERE i.indrelid = to_regclass($1::text) AND i.indnkeyatts = 1 AND i.indpred IS NULL
    AND i.indisunique AND i.indisvalid AND i.indimmediate)::text AS unique_keys,
  (SELECT relpersistence FROM pg_class WHERE oid = to_regclass($1::text))::text AS kept,
  (SELECT floor(extract(epoch FROM max(clock_timestamp() - xact_start)))
    FROM pg_stat_activity WHERE datname = current_database()
    AND (backend_xmin IS NOT NULL OR backend_xid IS NOT NULL))::text AS oldest,
  (SELECT string_agg(slot_name, ', ') FROM pg_replication_slots
    WHERE NOT active AND xmin IS NOT NULL)::text AS slots`;

type Told = Omit<Finding, 'server'>;

export function findingsOf(row: Row): Finding[] {
  const server = row['name'] ?? '';
  const found = [...stopsOf(row), ...lossesOf(row), ...delaysOf(row)];
  return found.map((one) => ({ ...one, server }));
}

/** Why no lock is granted, or one of them to several. */
function stopsOf(row: Row): Told[] {
  const found: Told[] = [];
  if (row['standby'] === 'true') {
    found.push({
      ...{ code: 'postgres:standby', severity: 'danger' },
      message: 'no lock can be taken here',
      evidence: 'the server is a standby: pg_is_in_recovery()',
      advice: 'connect to the primary',
    });
  }
  if (row['found'] === null) {
    found.push({
      ...{ code: 'postgres:no-table', severity: 'danger' },
      message: 'no lock can be taken: the table is missing, or not on the search_path',
      evidence: 'to_regclass finds no table with the name of the option "table"',
      advice: 'call createTable with the same option "table", or run the SQL of tableSql',
    });
  } else if (row['unique_keys'] === '0') {
    found.push({
      ...{ code: 'postgres:no-primary-key', severity: 'danger' },
      message: 'a free lock cannot be taken: two rows for one key would be two holders',
      evidence: 'the table of the locks has no primary key, as after CREATE TABLE … AS',
      advice:
        'stop all processes, remove rows with the same key, ALTER TABLE … ADD PRIMARY KEY (key)',
    });
  }
  return found;
}

/** What loses grants that were answered. */
function lossesOf(row: Row): Told[] {
  const found: Told[] = [];
  if (row['kept'] === 'u') {
    found.push({
      ...{ code: 'postgres:unlogged-table', severity: 'danger' },
      message: 'the table is empty after a crash of the server: held locks are given to others',
      evidence: 'the table of the locks is UNLOGGED',
      advice: 'ALTER TABLE … SET LOGGED',
    });
  }
  if (row['fsync'] === 'off') {
    found.push({
      ...{ code: 'postgres:no-fsync', severity: 'danger' },
      message: 'a crash of the machine may lose grants, and damage the database',
      evidence: 'fsync = off',
      advice: 'set fsync = on',
    });
  }
  if (row['commits'] === 'off') {
    found.push({
      ...{ code: 'postgres:asynchronous-commit', severity: 'warning' },
      message: 'a crash of the server loses the last grants: a lock may have two holders',
      evidence: 'synchronous_commit = off for this user and database',
      advice: 'set it to on for the user of the locks',
    });
  }
  if (Number(row['standbys']) > 0 && row['names'] === '') {
    found.push({
      ...{ code: 'postgres:asynchronous-standby', severity: 'warning' },
      message:
        'a standby that takes over may not have the last grants: a lock may have two holders',
      evidence: `${row['standbys']} standbys, and synchronous_standby_names is empty`,
      advice: 'set synchronous_standby_names, or use fences',
    });
  }
  return found;
}

/** What makes hot locks slow. */
function delaysOf(row: Row): Told[] {
  const found: Told[] = [];
  const message = 'old versions of hot rows cannot be removed, so locks become slow';
  if (Number(row['oldest']) >= LONG_S) {
    found.push({
      ...{ code: 'postgres:long-transaction', severity: 'warning', message },
      evidence: `a transaction of this database is open for ${row['oldest']} s`,
      advice: 'end it, or give the locks a database of their own',
    });
  }
  if (row['slots'] !== null && row['slots'] !== undefined) {
    found.push({
      ...{ code: 'postgres:unused-slot', severity: 'warning', message },
      evidence: `nothing reads these replication slots: ${row['slots']}`,
      advice: 'drop them (pg_drop_replication_slot)',
    });
  }
  return found;
}
