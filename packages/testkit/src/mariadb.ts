/**
 * A real MariaDB server for tests, in its own folder, without users and passwords. It listens on a
 * socket file only, and ends with the test's process.
 */
import { join } from 'node:path';
import { prepare } from './binaries.js';
import { programFolder, startProgram } from './program.js';

/** A running server. `await using` stops it. */
export interface MariaDb extends AsyncDisposable {
  readonly version: string;
  /** The path of its socket file. */
  readonly socketPath: string;
}

/** Starts MariaDB without a database, and resolves when it accepts connections. */
export async function startMariaDb(): Promise<MariaDb> {
  const { command, version } = await prepare('mariadb');
  const folder = programFolder('mariadb');
  const socketPath = join(folder, 'socket');
  const options = ['--no-defaults', `--datadir=${folder}`, `--socket=${socketPath}`];
  options.push('--skip-networking', '--skip-grant-tables', '--innodb-buffer-pool-size=8M');
  options.push('--innodb-log-file-size=4M', '--innodb-flush-log-at-trx-commit=0');
  if (process.getuid?.() === 0) options.push('--user=root');
  const { stop } = await startProgram({
    ...{ name: 'mariadb', folder, command: [...command, ...options] },
    ready: (log) => log.includes('ready for connections') || undefined,
  });
  return { version, socketPath, [Symbol.asyncDispose]: stop };
}
