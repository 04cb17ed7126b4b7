/**
 * Locks in a file of SQLite, beside the bare statements and a lock file: uncontended pairs,
 * hand-offs between two processes that take turns with one lock, and what a wait costs.
 *
 * A lock file sends no message when it is free. Its usual pauses begin with a second. The other one
 * is the best case for hand-offs: it asks each 2 ms, and does not look for symbolic links.
 */
import { fork } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { argv } from 'node:process';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Holdfast } from 'holdfast';
import { sqlite } from 'holdfast-sqlite';
import { percentile, sleep } from 'holdfast-testkit';
import { installPeers } from './install.js';
import { printLate } from './late.js';
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

const NAMES = ['bare', 'holdfast', 'proper-lockfile', 'its best case'] as const;
type Name = (typeof NAMES)[number];

/** The pauses of the best case, in ms. */
const ASK_MS = 2;
/** How long the waiter of a held lock is measured, in ms. */
const WAIT_MS = 2000;

/** `npm run bench -- --files` */
export async function printFiles(settings: Settings): Promise<void> {
  const { peers, rounds, sizes } = settings;
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-bench-'));
  const modules = peers ? installPeers().folder : '';
  const names = NAMES.filter((name) => peers || !isLockFile(name));
  const takes = new Map<Name, Take>();
  try {
    for (const name of names) takes.set(name, await opened(name, folder, modules));
    await printPairs(takes, ['bare'], settings);
    const locks = names.filter((one) => one !== 'bare');
    console.log('two processes, 1 ms of work: hand-offs a second and their p50, turns a second,');
    console.log('p99 of a wait, CPU of both for a turn');
    for (const name of locks) {
      const ms = 2000 * rounds * sizes.seconds;
      const args = [name, folder, modules, `${ms}`];
      const { gaps, waits, cpu } = await handOffs(fileURLToPath(import.meta.url), [args, args]);
      const rate = (count: number): string => ((1000 * count) / ms).toFixed(1).padStart(6);
      const [hand, wait] = [percentile(gaps, 50).toFixed(2), percentile(waits, 99).toFixed(0)];
      const turns = `${rate(waits.length)}, ${wait} ms, ${cpu.toFixed(0)} µs`;
      console.log(`  ${name.padEnd(16)} ${rate(gaps.length)}, ${hand} ms, ${turns}`);
    }
    console.log('a process that waits for a held lock: CPU in a second');
    for (const name of locks) {
      const cpu = await waitsFor(takes.get(name) as Take, [name, folder, modules]);
      console.log(`  ${name.padEnd(16)} ${cpu.toFixed(1)} ms`);
    }
    await printLate(() => new Holdfast(sqlite(join(folder, 'locks.db'))), settings);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The processor time in ms of a process in a second in which it waits. */
async function waitsFor(take: Take, words: readonly string[]): Promise<number> {
  const release = await take();
  const waiter = fork(fileURLToPath(import.meta.url), [...words, 'wait']);
  const next = (): Promise<number> => new Promise((resolve) => waiter.once('message', resolve));
  const before = await next();
  await sleep(WAIT_MS);
  waiter.send('how much');
  const after = await next();
  waiter.kill();
  await release();
  return (after - before) / WAIT_MS;
}

/** Waits, and sends its processor time in µs when it waits, and when it is asked. */
async function wait(take: Take): Promise<void> {
  void take();
  const tell = (): void => {
    const { user, system } = process.cpuUsage();
    process.send?.(user + system);
  };
  process.on('message', tell);
  // its first call loads and opens what it needs
  await sleep(WAIT_MS);
  tell();
}

function isLockFile(name: Name): boolean {
  return name === 'proper-lockfile' || name === 'its best case';
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
  const file = join(folder, `${name}.txt`);
  writeFileSync(file, '');
  if (name === 'proper-lockfile') return () => lockFile.lock(file, { retries: { forever: true } });
  const retries = { forever: true, factor: 1, minTimeout: ASK_MS, maxTimeout: ASK_MS };
  return () => lockFile.lock(file, { retries, realpath: false });
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
  const take = await opened(name as Name, folder, modules);
  if (ms === 'wait') await wait(take);
  else finish(await takeTurns(take, Number(ms)));
}
