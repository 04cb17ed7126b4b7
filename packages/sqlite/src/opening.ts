/**
 * Opens a file: WAL, the tables, and the clock.
 *
 * `synchronous=NORMAL` in WAL mode: a process that dies loses nothing. A loss of power may lose the
 * last changes, with the processes that made them, and never damages the file. Fences go on above
 * the lost ones, because they begin at the time.
 */
import { realpathSync } from 'node:fs';
import { RegisterError } from 'holdfast/register';
import { bootId, newOrigin, type Origin } from './boot-clock.js';
import type { Client, Handle, Statement } from './client.js';
import { checkPlace, identityOf, type Identity } from './place.js';
import { APPLICATION_ID, CREATION, FORMAT, LATEST, STATEMENTS, type Texts } from './sql.js';

export interface Open {
  readonly handle: Handle;
  readonly statements: Texts<Statement>;
  readonly transaction: Transaction;
  readonly identity: Identity;
  /** The files of the log: without one of them, processes do not see each other's changes. */
  readonly log: readonly LogFile[];
  readonly origin: Origin;
}

interface LogFile {
  readonly path: string;
  readonly identity: Identity;
}

/** Throws an error of the client or of the system, or a `RegisterError`. */
export function openFile(client: Client, path: string): Open {
  checkPlace(path);
  // known before it is opened: a file that replaces it in between counts as replaced
  const identity = identityOf(path) ?? created(client, path);
  const handle = client.open(path);
  try {
    // a call never sleeps: the event loop would stand still
    handle.exec('PRAGMA busy_timeout = 0');
    const isNew = mustCreate(handle, path);
    const { journal_mode: mode } = handle.prepare('PRAGMA journal_mode = WAL').get() as {
      journal_mode: string;
    };
    if (mode !== 'wal') {
      const why = `${path}: the file system has no shared memory for WAL`;
      throw new RegisterError('refused', `${why}: use a disk of this machine`);
    }
    handle.exec('PRAGMA synchronous = NORMAL');
    const transaction = transactionOn(handle);
    if (isNew) transaction(() => mustCreate(handle, path) && handle.exec(CREATION));
    const statements = Object.fromEntries(
      Object.entries(STATEMENTS).map(([name, text]) => [name, handle.prepare(text)]),
    ) as unknown as Texts<Statement>;
    const origin = originOf(handle, transaction);
    // as long as this file is open, SQLite does not replace them
    const log = ['-wal', '-shm'].flatMap((end): LogFile[] => {
      const name = `${realpathSync(path)}${end}`;
      const found = identityOf(name);
      return found === undefined ? [] : [{ path: name, identity: found }];
    });
    return { handle, statements, transaction, identity, log, origin };
  } catch (error) {
    handle.close();
    throw error;
  }
}

/** Makes an empty file. */
function created(client: Client, path: string): Identity {
  const handle = client.open(path);
  const identity = identityOf(path);
  handle.close();
  if (identity !== undefined) return identity;
  throw new RegisterError('transient', `${path} was removed`);
}

/** True if the file is empty. Throws if it is that of another program. */
function mustCreate(handle: Handle, path: string): boolean {
  const value = (text: string): unknown => Object.values(handle.prepare(text).get() as object)[0];
  if (value('SELECT count(*) FROM sqlite_schema') === 0) return true;
  if (value('PRAGMA application_id') !== APPLICATION_ID) {
    const why = `${path} is the database of another program`;
    throw new RegisterError('refused', `${why}: give the locks a file of their own`);
  }
  if (value('PRAGMA user_version') === FORMAT) return false;
  throw new RegisterError('refused', `${path} is of another version of holdfast-sqlite`);
}

/** The origin of the clock, which the first process after a start of the system chooses. */
function originOf(handle: Handle, transaction: Transaction): Origin {
  const boot = bootId();
  if (boot === '') return { boot, origin: 0 };
  const [find, add] = [
    handle.prepare('SELECT origin FROM holdfast_boots WHERE boot = ?'),
    handle.prepare('INSERT INTO holdfast_boots (boot, origin) VALUES (?, ?)'),
  ];
  const found = (): number | undefined => (find.get(boot) as Origin | undefined)?.origin;
  const chosen = (): number => {
    const { latest } = handle.prepare(LATEST).get() as { latest: number | null };
    const origin = newOrigin(latest ?? 0);
    add.run(boot, origin);
    return origin;
  };
  return { boot, origin: found() ?? transaction(() => found() ?? chosen()) };
}

/** Runs something in one transaction, which has the right to write from its beginning. */
export type Transaction = <T>(run: () => T) => T;

function transactionOn(handle: Handle): Transaction {
  const [begin, commit, rollback] = ['BEGIN IMMEDIATE', 'COMMIT', 'ROLLBACK'].map((text) =>
    handle.prepare(text),
  ) as [Statement, Statement, Statement];
  return (run) => {
    begin.run();
    try {
      const result = run();
      commit.run();
      return result;
    } catch (error) {
      try {
        rollback.run();
      } catch {
        // SQLite has ended the transaction itself
      }
      throw error;
    }
  };
}
