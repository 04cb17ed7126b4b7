/** The client better-sqlite3, which has no types of its own. */
import { until } from 'holdfast-testkit';

export interface Statement {
  readonly source: string;
  readonly database: Database;
  run(...values: unknown[]): unknown;
  get(...values: unknown[]): unknown;
  all(...values: unknown[]): unknown[];
}

export interface Database {
  readonly inTransaction: boolean;
  exec(text: string): unknown;
  prepare(text: string): Statement;
  close(): unknown;
}

type DatabaseClass = new (path: string, options?: { readonly timeout: number }) => Database;

const name = 'better-sqlite3';
const { default: Opened } = (await import(name)) as { default: DatabaseClass };

/** How long another program waits for the lock of the file, in ms. Its event loop stands still. */
const WAIT_MS = 50;

/** Uses the file, again and again while other programs lock it. */
export function whenFree<T>(path: string, use: (database: Database) => T): Promise<T> {
  const attempt = (): { readonly result: T } => {
    const database = openDatabase(path);
    try {
      return { result: use(database) };
    } finally {
      database.close();
    }
  };
  return until(attempt, { within: 30_000, every: 20 }).then(({ result }) => result);
}

export function openDatabase(path: string): Database {
  return new Opened(path, { timeout: WAIT_MS });
}
