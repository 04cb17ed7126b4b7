/** The clients: what this package uses of them, and how one is found. */
import { RegisterError } from 'holdfast/register';
import type { ClientName } from './options.js';

export interface Statement {
  /** Runs the statement to its end, so an error of its commit is thrown. */
  run(...values: (string | number)[]): { readonly changes: number | bigint };
  get(...values: (string | number)[]): unknown;
  all(...values: (string | number)[]): unknown[];
}

/** An open file. Every call is synchronous. */
export interface Handle {
  exec(text: string): unknown;
  prepare(text: string): Statement;
  close(): unknown;
}

export interface Client {
  readonly name: ClientName;
  open(path: string): Handle;
}

type HandleClass = new (path: string, options?: object) => Handle;

/** Finds the client that is chosen, or the first one that is there. */
export async function loadClient(chosen: ClientName | undefined): Promise<Client> {
  const causes: unknown[] = [];
  for (const name of chosen === undefined ? CLIENTS : [chosen]) {
    try {
      return { name, open: await OPENERS[name]() };
    } catch (error) {
      causes.push(error);
    }
  }
  const [cause] = causes;
  throw new RegisterError('refused', missing(chosen, cause), { cause });
}

// that of Node prints a warning in some versions
const CLIENTS: readonly ClientName[] = ['better-sqlite3', 'node:sqlite'];

const OPENERS: Record<ClientName, () => Promise<Client['open']>> = {
  'better-sqlite3': async () => {
    const { default: Database } = await load<{ default: HandleClass }>('better-sqlite3');
    // without its binary, only the first opening fails
    new Database(':memory:').close();
    return (path) => new Database(path, { timeout: 0 });
  },
  'node:sqlite': async () => {
    const { DatabaseSync } = await load<{ DatabaseSync: HandleClass }>('node:sqlite');
    return (path) => new DatabaseSync(path);
  },
};

/** Bundlers do not follow a name that comes from a variable. */
async function load<T>(name: string): Promise<T> {
  return (await import(name)) as T;
}

function missing(chosen: ClientName | undefined, cause: unknown): string {
  const node = 'use Node 22.13 or newer, which has node:sqlite';
  const install = 'npm install better-sqlite3';
  if (chosen === 'node:sqlite') return `node:sqlite cannot be loaded: ${node}`;
  if ((cause as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') {
    const rebuild = 'allow its install script, then npm rebuild better-sqlite3';
    const other = chosen === undefined ? `, or ${node}` : '';
    return `better-sqlite3 is installed, and cannot open a file: ${rebuild}${other}`;
  }
  if (chosen === 'better-sqlite3') return `better-sqlite3 cannot be loaded: ${install}`;
  return `no client for SQLite was found: ${install}, or ${node}`;
}
