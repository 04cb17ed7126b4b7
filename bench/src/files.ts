/**
 * Locks in a file of SQLite, beside the bare statements and a lock file: uncontended pairs, and
 * hand-offs between two processes that take turns with one lock.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { argv } from 'node:process';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Holdfast } from 'holdfast';
import { sqlite } from 'holdfast-sqlite';
import { percentile } from 'holdfast-testkit';
import { installPeers } from './install.js';
import { finish, handOffs, printPairs, type Take, takeTurns } from './pairs.js';
import type { Settings } from './settings.js';

type DatabaseClass = new (
  file: string,
) => {
  exec(text: string): unknown;
  prepare(text: string): { run(...values: unknown[]): unknown };
};
interface LockFile {
  lock(file: string, options?: object): Promise<() => Promise<void>>;
}

const NAMES = ['bare', 'holdfast', 'proper-lockfile'] as const;
type Name = (typeof NAMES)[number];

/** The pauses of a process that asks for a lock file again, in ms. */
const ASK_MS = 2;

/** `npm run bench -- --files` */
export async function printFiles(settings: Settings): Promise<void> {
  const { peers, rounds, sizes } = settings;
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-bench-'));
  const modules = peers ? installPeers().folder : '';
  const names = NAMES.filter((name) => peers || name !== 'proper-lockfile');
  const takes = new Map<Name, Take>();
  try {
    for (const name of names) takes.set(name, await opened(name, folder, modules));
    await printPairs(takes, ['bare'], settings);
    console.log(
      'two processes, 1 ms of work: p50 of a hand-off, hand-offs a second, p99 of a wait',
    );
    for (const name of names.filter((one) => one !== 'bare')) {
      const ms = 2000 * rounds * sizes.seconds;
      const args = [name, folder, modules, `${ms}`];
      const { gaps, waits } = await handOffs(fileURLToPath(import.meta.url), [args, args]);
      const rate = ((1000 * gaps.length) / ms).toFixed(0);
      const [hand, wait] = [percentile(gaps, 50), percentile(waits, 99)];
      console.log(`  ${name.padEnd(16)} ${hand.toFixed(2)} ms, ${rate}, ${wait.toFixed(1)} ms`);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Takes the lock of a key. Resolves to its release. */
async function opened(name: Name, folder: string, modules: string): Promise<Take> {
  if (name === 'bare') return bare(join(folder, 'bare.db'));
  if (name === 'holdfast') {
    const holdfast = new Holdfast(sqlite(join(folder, 'locks.db')), { localHandOffs: 0 });
    return async () => {
      const lease = await holdfast.mutex('one').acquire();
      return () => lease.release();
    };
  }
  const { load } = (await import(pathToFileURL(join(modules, 'load.js')).href)) as {
    readonly load: (name: string) => Promise<{ default: LockFile }>;
  };
  const { default: lockFile } = await load('proper-lockfile');
  const file = join(folder, 'one.txt');
  writeFileSync(file, '');
  const retries = { forever: true, factor: 1, minTimeout: ASK_MS, maxTimeout: ASK_MS };
  return () => lockFile.lock(file, { retries });
}

/** Two updates of one row that name its version, as a lock and a release must make them. */
function bare(file: string): Take {
  const Database = createRequire(import.meta.url)('better-sqlite3') as DatabaseClass;
  const database = new Database(file);
  database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
    CREATE TABLE IF NOT EXISTS one (key TEXT PRIMARY KEY, version INT, state TEXT) WITHOUT ROWID;
    INSERT INTO one VALUES ('one', 0, '') ON CONFLICT DO UPDATE SET version = 0;`);
  const update = database.prepare(
    'UPDATE one SET version = ?, state = ? WHERE key = ? AND version = ?',
  );
  let version = 0;
  const swap = async (): Promise<void> => {
    update.run(version + 1, 'x'.repeat(200), 'one', version);
    version += 1;
  };
  return async () => {
    await swap();
    return swap;
  };
}

if (import.meta.url === pathToFileURL(argv[1] ?? '').href) {
  const [name, folder = '', modules = '', ms] = argv.slice(2);
  finish(await takeTurns(await opened(name as Name, folder, modules), Number(ms)));
}
