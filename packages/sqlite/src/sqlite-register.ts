/**
 * The register on a file of SQLite: one row for each key, replaced by an UPDATE that names the
 * version it replaces. The statements are in sql.ts.
 *
 * Invariants:
 * - A swap takes effect at most once: its version is new, and the row must have the old one.
 * - A swap is answered after its commit, and after a look at the name of the file: a commit in a
 *   file that was removed or replaced counts as unanswered.
 * - Versions are never used again, also in a file that comes from a backup: each has the random
 *   name of its process, and a number.
 */
import { randomBytes } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import {
  type Change,
  Collector,
  type Finding,
  type Register,
  type Swap,
  type Swapped,
  type TimeLimit,
  type Versioned,
} from 'holdfast/register';
import { aheadOf } from './boot-clock.js';
import { type Client, loadClient } from './client.js';
import { Database } from './database.js';
import { findingsOf } from './findings.js';
import { Listening } from './listening.js';
import type { Open } from './opening.js';
import type { Settings } from './options.js';
import { Sending } from './sending.js';
import { ROWS, type Row } from './sql.js';
import { Sweeps } from './sweeps.js';
import { WakeFolder } from './wake-folder.js';

/** The most calls of a batch. They take some milliseconds. */
const TURN_MAX = 100;
/** Batches may follow each other in one turn of the event loop for this time, in ms. */
const TURN_MS = 1;
/** The version of a key without a row. */
const NONE = '0';

export class SqliteRegister implements Register {
  readonly label = 'sqlite';
  readonly stateMax: number;
  readonly listen?: NonNullable<Register['listen']>;
  readonly alive?: NonNullable<Register['alive']>;
  readonly #database: Database;
  readonly #reads: Collector<string, Versioned>;
  readonly #swaps: Collector<Swap, Swapped>;
  readonly #sending: Sending | undefined;
  readonly #sweeps = new Sweeps();
  readonly #name = randomBytes(12).toString('base64url');
  #count = 0;
  #folder: WakeFolder | undefined;
  /** When a batch began that had a turn for itself. */
  #turnedAt = 0;

  /** @param load finds the client */
  constructor(
    path: string,
    settings: Settings,
    load: () => Promise<Client> = () => loadClient(settings.client),
  ) {
    const { listen, timeout, stateMax } = settings;
    this.stateMax = stateMax;
    this.#database = new Database({ path, load, timeout });
    const terms = { max: TURN_MAX, soon: this.#soon };
    this.#reads = new Collector((keys) => this.#readAll(keys), terms);
    this.#swaps = new Collector((swaps) => this.#swapAll(swaps), terms);
    if (!listen || process.platform === 'win32') return;
    const folder = new WakeFolder(path);
    this.#folder = folder;
    const sending = new Sending(folder);
    const listening = new Listening(folder);
    this.#sending = sending;
    this.listen = (channel, listener) => listening.listen(channel, listener);
    this.alive = (channels) => Promise.all(channels.map((channel) => sending.isAlive(channel)));
  }

  read(key: string): Promise<Versioned> {
    return this.#reads.add(key);
  }

  swap(key: string, version: string, change: Change): Promise<Swapped> {
    return this.#swaps.add({ key, version, change });
  }

  async overtake(key: string): Promise<Versioned> {
    return this.#database.runNow(({ statements, transaction }, time) =>
      transaction(() => {
        statements.overtake.run(this.#next(), key);
        return versionedOf(statements.read.get(key) as Row | undefined, time);
      }),
    );
  }

  async *scan(prefix: string, within: TimeLimit): AsyncIterable<{ key: string; found: Versioned }> {
    let from = prefix;
    let last = '';
    for (;;) {
      const { rows, time } = await within(
        this.#database.run(({ statements }, now) => {
          return { rows: statements.scan.all(from, last) as Row[], time: now };
        }),
      );
      for (const row of rows) {
        if (!row.key.startsWith(prefix)) return;
        from = last = row.key;
        yield { key: row.key, found: versionedOf(row, time) };
      }
      if (rows.length < ROWS) return;
    }
  }

  async examine(): Promise<readonly Finding[]> {
    const ahead = await this.#database.run(({ origin }) => aheadOf(origin));
    return findingsOf(this.#database.path, ahead);
  }

  trouble(): string | undefined {
    return this.#database.isLocked ? 'another program keeps the file locked' : undefined;
  }

  /** Closes the file. The sockets for messages end with their channels. */
  async close(): Promise<void> {
    await this.#sending?.close();
    this.#folder?.close();
    this.#database.close();
  }

  /**
   * Plans a batch in this turn or the next one: a process that calls without a pause still reads
   * its sockets.
   */
  readonly #soon = (start: () => void): void => {
    if (performance.now() - this.#turnedAt < TURN_MS) return queueMicrotask(start);
    setImmediate(() => {
      this.#turnedAt = performance.now();
      start();
    });
  };

  #readAll(keys: readonly string[]): Versioned[] | Promise<Versioned[]> {
    return this.#database.runNow(({ statements }, time) =>
      keys.map((key) => versionedOf(statements.read.get(key) as Row | undefined, time)),
    );
  }

  #swapAll(swaps: readonly Swap[]): Swapped[] | Promise<Swapped[]> {
    const swapped = this.#database.runNow((open, time) => this.#committed(open, swaps, time));
    if (!(swapped instanceof Promise)) return this.#told(swaps, swapped);
    return swapped.then((results) => this.#told(swaps, results));
  }

  /** Sends the messages of the swaps that were made. */
  #told(swaps: readonly Swap[], swapped: Swapped[]): Swapped[] {
    let added = 0;
    for (const [at, { version, change }] of swaps.entries()) {
      if (swapped[at] === false) continue;
      if (version === NONE) added += 1;
      if (change.messages.length > 0) this.#sending?.send(change.messages);
    }
    if (added > 0) this.#sweeps.added(added, this.#database);
    return swapped;
  }

  /** One change is a transaction by itself, and several are one together. */
  #committed(open: Open, swaps: readonly Swap[], time: number): Swapped[] {
    const all = (): Swapped[] => swaps.map((swap) => this.#swapped(open, swap, time));
    return swaps.length === 1 ? all() : open.transaction(all);
  }

  #next(): string {
    this.#count += 1;
    return `${this.#name}.${this.#count}`;
  }

  #swapped({ statements }: Open, { key, version, change }: Swap, time: number): Swapped {
    const next = this.#next();
    const forgetAt = Math.min(change.forgetAt, Number.MAX_SAFE_INTEGER);
    const isFirst = version === NONE;
    const { changes } = isFirst
      ? statements.insert.run(key, next, change.state, forgetAt)
      : statements.update.run(next, change.state, forgetAt, key, version);
    return Number(changes) === 0 ? false : { version: next, time };
  }
}

function versionedOf(row: Row | undefined, time: number): Versioned {
  if (row === undefined) return { state: '', version: NONE, time };
  return { state: row.forgetAt <= time ? '' : row.state, version: row.version, time };
}
