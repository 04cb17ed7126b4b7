/** The options of this package and their checks. */
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { badOption, flagOption, knownOptions, wholeOption } from 'holdfast/register';

/** The clients that this package knows. */
export type ClientName = 'better-sqlite3' | 'node:sqlite';

/** Options of `sqlite`. */
export interface SqliteOptions {
  /** The client. By default better-sqlite3 if it is installed, or else that of Node itself. */
  readonly client?: ClientName | undefined;
  /** False: no sockets for messages, so waiters poll. Default true. */
  readonly listen?: boolean | undefined;
  /**
   * How long a call waits for another program that has locked the file, in ms. 100 to 60,000;
   * default 3,000.
   */
  readonly timeout?: number | undefined;
  /**
   * The most characters of the state of one key, which has all of its holders and waiters. A
   * command that would make it longer is refused. 1,024 to 1,048,576; default 131,072, which is
   * about 1,500 waiters in different processes.
   */
  readonly stateMax?: number | undefined;
}

/** The options with their defaults. */
export interface Settings {
  readonly client: ClientName | undefined;
  readonly listen: boolean;
  readonly timeout: number;
  readonly stateMax: number;
}

const OPTIONS: ReadonlySet<string> = new Set(['client', 'listen', 'timeout', 'stateMax']);
const CLIENTS: ReadonlySet<unknown> = new Set(['better-sqlite3', 'node:sqlite', undefined]);

export function settingsOf(options: SqliteOptions): Settings {
  knownOptions('options', options, OPTIONS);
  const { client, listen, timeout, stateMax } = options;
  if (!CLIENTS.has(client)) throw badOption('client', '"better-sqlite3" or "node:sqlite"', client);
  return {
    client,
    listen: flagOption('listen', listen, true),
    timeout: wholeOption('timeout', timeout, 3000, 100, 60_000),
    stateMax: wholeOption('stateMax', stateMax, 131_072, 1024, 1_048_576),
  };
}

function pathOfUrl(url: URL): string | undefined {
  try {
    return fileURLToPath(url);
  } catch {
    // it has a host, or is not that of a file
    return undefined;
  }
}

/** The absolute path of the file, checked. */
export function pathOf(given: unknown): string {
  if (given === ':memory:') {
    throw badOption('path', 'a file: other processes cannot see a database in memory', given);
  }
  const path = given instanceof URL ? pathOfUrl(given) : given;
  // SQLite may take such a text for the URI of a file, with settings
  const isUri = typeof given === 'string' && given.startsWith('file:');
  // better-sqlite3 opens another file for a name with spaces at its end
  const isPath = typeof path === 'string' && path !== '' && !path.includes('\0');
  if (isPath && !isUri && path === path.trimEnd()) return resolve(path);
  const expected = 'the path of a file, or a URL object of one, without spaces at its end';
  throw badOption('path', expected, given);
}
