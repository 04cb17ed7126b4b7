/**
 * One file of SQLite in a folder of its own, with a disk that can be full and a wall clock that can
 * be stepped for all processes. No network is in between.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type ClockShim,
  type FullDisk,
  makeClockShim,
  makeFullDisk,
  startServer,
} from 'holdfast-testkit';
import { sqlite } from 'holdfast-sqlite';
import { historyOf } from '../settings.js';
import { closeAll, type Route, RUNNER, type Scenario } from '../scenario.js';
import { ticketsOf } from '../tickets.js';
import { type Database, openDatabase, whenFree } from './client.js';

export interface SqliteScenario extends Scenario {
  /** Of the locks. It may be replaced as a whole. */
  readonly locks: string;
  readonly file: string;
  /** Undefined without a C compiler. */
  readonly disk: FullDisk | undefined;
  /** The wall clock of the processes. The clock of the locks does not follow it. */
  readonly wall: ClockShim | undefined;
  /** A connection of another program, for one use. */
  readonly other: <T>(use: (database: Database) => T) => Promise<T>;
}

export async function startSqliteScenario(
  processes: number,
  folder: string,
): Promise<SqliteScenario> {
  mkdirSync(folder, { recursive: true });
  const parent = mkdtempSync(join(tmpdir(), 'holdfast-sqlite-'));
  const locks = join(parent, 'locks');
  const file = join(locks, 'locks.db');
  mkdirSync(locks);
  const [disk, wall] = await Promise.all([makeFullDisk(parent), makeClockShim()]);
  const preloads = [disk, wall].flatMap((one) => one?.env['LD_PRELOAD'] ?? []);
  const env = { ...disk?.env, ...wall?.env, LD_PRELOAD: preloads.join(':') };
  const resource = await startServer({ server: 'redis' });
  const routes = Array.from({ length: processes }, (): Route => {
    const { url: resourceUrl } = resource;
    return { urls: [file], resourceUrl, prefix: [], wire: undefined, proxies: [], env };
  });
  const other = <T>(use: (database: Database) => T): Promise<T> => whenFree(file, use);
  const about = openDatabase(':memory:').prepare('SELECT sqlite_version() AS version').get();
  const version = `SQLite ${(about as { version: string }).version}`;
  return {
    ...{ store: 'sqlite', version, forgets: false, locks, file, disk, wall, other },
    ...{ resource, clock: undefined, routes, folder, history: historyOf(folder, RUNNER) },
    open: async () => ({ store: sqlite(file), close: () => undefined }),
    tickets: async (k) => {
      const text = 'SELECT state FROM holdfast_locks WHERE key = ?';
      const row = await other((database) => database.prepare(text).get(`holdfast:lock:${k}`));
      return ticketsOf((row as { state: string } | undefined)?.state);
    },
    close: async () => {
      await closeAll([resource]);
      rmSync(parent, { recursive: true, force: true });
    },
  };
}
