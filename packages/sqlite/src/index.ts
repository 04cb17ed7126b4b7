/**
 * Holdfast in a file of SQLite: `new Holdfast(sqlite('locks.db'))`.
 */
import type { HoldfastStore } from 'holdfast';
import { register } from 'holdfast/register';
import { pathOf, settingsOf, type SqliteOptions } from './options.js';
import { SqliteRegister } from './sqlite-register.js';

export type { ClientName, SqliteOptions } from './options.js';

/**
 * The store in a file, for the processes of one machine, for `new Holdfast`. It creates the file,
 * which is for locks only, and beside it a folder for sockets. Its folder must exist.
 *
 * @param path the file, on a disk of this machine
 * @throws HOLDFAST_BAD_OPTION if the path or an option is not valid
 */
export function sqlite(path: string | URL, options: SqliteOptions = {}): HoldfastStore {
  const settings = settingsOf(options);
  // calls of SQLite are synchronous, and their repetitions end
  return register(new SqliteRegister(pathOf(path), settings), { timeout: Infinity });
}
