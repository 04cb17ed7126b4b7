/**
 * Locks in a file of SQLite, beside the bare statements and a lock file: uncontended pairs, and
 * hand-offs between two processes that take turns with one lock.
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
import { percentile } from 'holdfast-testkit';
import { installPeers } from './install.js';
import { now } from './orders.js';
import type { Settings } from './settings.js';

type Take = () => Promise<() => Promise<unknown>>;
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
export async function printFiles({ peers, rounds, sizes }: Settings): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-bench-'));
  const modules = peers ? installPeers().folder : '';
  const names = NAMES.filter((name) => peers || name !== 'proper-lockfile');
  const pairs = new Map<Name, number[]>();
  try {
    for (let round = 0; round < rounds; round++) {
      for (const name of names) {
        const rate = await pairsOf(await opened(name, folder, modules), sizes.seconds * 1000);
        pairs.set(name, [...(pairs.get(name) ?? []), rate]);
      }
    }
    console.log('uncontended pairs a second, median, and the part of the bare updates');
    const [bare = 1] = names.map((name) => percentile(pairs.get(name) ?? [], 50));
    for (const name of names) {
      const rate = percentile(pairs.get(name) ?? [], 50);
      console.log(
        `  ${name.padEnd(16)} ${rate.toFixed(0).padStart(8)}  ${(rate / bare).toFixed(3)}`,
      );
    }
    console.log(
      'two processes, 1 ms of work: p50 of a hand-off, hand-offs a second, p99 of a wait',
    );
    for (const name of names.filter((one) => one !== 'bare')) {
      const ms = 2000 * rounds * sizes.seconds;
      const { gaps, waits } = await handOffs(name, folder, modules, ms);
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

async function pairsOf(take: Take, ms: number): Promise<number> {
  // the first ones open the file
  for (let warm = 0; warm < 100; warm++) await (await take())();
  const start = now();
  let count = 0;
  for (; now() - start < ms; count++) await (await take())();
  return (1000 * count) / (now() - start);
}

/** When a turn was asked for, when it began, and when its release began. */
type Turn = readonly [asked: number, from: number, to: number];

interface HandOffs {
  /** From a release to the next turn, if that is one of the other process. */
  readonly gaps: number[];
  /** From a call to its turn. */
  readonly waits: number[];
}

async function handOffs(...args: [Name, string, string, number]): Promise<HandOffs> {
  const workers = [0, 1].map(
    () =>
      new Promise<Turn[]>((resolve, reject) => {
        const worker = fork(fileURLToPath(import.meta.url), args.map(String));
        worker.on('message', resolve);
        worker.on('error', reject);
      }),
  );
  const all = (await Promise.all(workers)).flatMap((turns, who) =>
    turns.map((turn) => ({ turn, who })),
  );
  all.sort((a, b) => a.turn[1] - b.turn[1]);
  const gaps = all.flatMap(({ turn, who }, at) => {
    const before = all[at - 1];
    return before === undefined || before.who === who ? [] : [turn[1] - before.turn[2]];
  });
  return { gaps, waits: all.map(({ turn: [asked, from] }) => from - asked) };
}

/** A process that takes turns without a pause. */
async function work(name: Name, folder: string, modules: string, ms: number): Promise<void> {
  const take = await opened(name, folder, modules);
  await (await take())();
  const turns: Turn[] = [];
  const end = now() + ms;
  while (now() < end) {
    const asked = now();
    const release = await take();
    const from = now();
    await new Promise((resolve) => setTimeout(resolve, 1));
    turns.push([asked, from, now()]);
    await release();
  }
  process.send?.(turns, () => process.exit());
}

if (import.meta.url === pathToFileURL(argv[1] ?? '').href) {
  const [name, folder = '', modules = '', ms] = argv.slice(2);
  await work(name as Name, folder, modules, Number(ms));
}
