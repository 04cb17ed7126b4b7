/**
 * A real MariaDB server for tests, in its own folder, without users and passwords. It listens on a
 * socket file only, and ends with the test's process.
 */
import { spawn } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, realpathSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { prepare } from './binaries.js';
import { guard, guardFolder, removeFolder } from './guardian.js';
import { until } from './wait.js';

/** A running server. `await using` stops it. */
export interface MariaDb extends AsyncDisposable {
  readonly version: string;
  /** The path of its socket file. */
  readonly socketPath: string;
}

/** Starts MariaDB without a database, and resolves when it accepts connections. */
export async function startMariaDb(): Promise<MariaDb> {
  const { command, version } = await prepare('mariadb');
  const [file = '', ...words] = command;
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'holdfast-mariadb-')));
  guardFolder(folder);
  const [path, socketPath] = [join(folder, 'server.log'), join(folder, 'socket')];
  const log = openSync(path, 'w');
  const options = ['--no-defaults', `--datadir=${folder}`, `--socket=${socketPath}`];
  options.push('--skip-networking', '--skip-grant-tables', '--innodb-buffer-pool-size=8M');
  options.push('--innodb-log-file-size=4M', '--innodb-flush-log-at-trx-commit=0');
  if (process.getuid?.() === 0) options.push('--user=root');
  const child = spawn(file, [...words, ...options], { cwd: folder, stdio: ['ignore', log, log] });
  closeSync(log);
  guard(child);
  const exit = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
    child.once('error', () => resolve());
  });
  const stop = async (): Promise<void> => {
    child.kill('SIGKILL');
    await exit;
    removeFolder(folder);
  };
  const ended = exit.then(() => {
    throw new Error(`MariaDB ended at start:\n${readFileSync(path, 'utf8')}`);
  });
  try {
    const ready = (): boolean => readFileSync(path, 'utf8').includes('ready for connections');
    await Promise.race([ended, until(ready, { within: 50_000, every: 20 })]);
  } catch (error) {
    await stop();
    throw error;
  }
  return { version, socketPath, [Symbol.asyncDispose]: stop };
}
