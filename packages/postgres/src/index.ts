/**
 * Holdfast on PostgreSQL: `new Holdfast(postgres(pool))`.
 */
import type { HoldfastStore } from 'holdfast';
import { knownOptions, register } from 'holdfast/register';
import { driverFor, type PostgresSource, runOn } from './detect.js';
import { type PostgresOptions, settingsOf, tableOf } from './options.js';
import { PostgresRegister } from './postgres-register.js';
import { creation } from './sql.js';

export type { PostgresSource } from './detect.js';
export type { Pglite, QueryFunction } from './other-clients.js';
export { guard, type GuardedLease, type GuardOptions, type Transaction } from './guard.js';
export type { PgClient, PgPool, PgSettings } from './pg.js';
export type { PostgresJs } from './postgres-js.js';
export type { PostgresOptions } from './options.js';

/**
 * The store on a PostgreSQL server, 14 or newer, for `new Holdfast`. Create the table before, see
 * {@link createTable}. It opens at most two connections of its own, with the settings of the
 * client, so a pool without a free connection keeps no lock from being released. With PGlite or a
 * function it opens none.
 *
 * @param client a `Pool` or a `Client` of `pg`, a client of postgres.js, PGlite, a URL, or a
 *   function that runs a statement and resolves to its rows
 * @throws HOLDFAST_BAD_OPTION if the client is none of these, or if an option is not valid
 */
export function postgres(client: PostgresSource, options: PostgresOptions = {}): HoldfastStore {
  const settings = settingsOf(options);
  const { table, stateMax, timeout } = settings;
  const driver = driverFor(client, settings);
  // a connection is opened, and a statement runs
  return register(new PostgresRegister({ driver, table, stateMax }), { timeout: 2 * timeout });
}

const TABLE_OPTIONS: ReadonlySet<string> = new Set(['table']);

/**
 * Creates the table, if there is none; also from many processes at once. Rejects as the client
 * does.
 * @param client as for {@link postgres}, but no URL and no settings; it runs one statement
 */
export async function createTable(
  client: Exclude<PostgresSource, string>,
  options: Pick<PostgresOptions, 'table'> = {},
): Promise<void> {
  knownOptions('options', options, TABLE_OPTIONS);
  await runOn(client, tableSql(options.table));
}

/** The SQL of {@link createTable}, for a migration. The package has it as a file too. */
export function tableSql(table?: string): string {
  return creation(tableOf(table));
}
