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
  throw new RegisterError('refused', missing(chosen), { cause: causes[0] });
}

// that of Node prints a warning in some versions
const CLIENTS: readonly ClientName[] = ['better-sqlite3', 'node:sqlite'];

const OPENERS: Record<ClientName, () => Promise<Client['open']>> = {
  'better-sqlite3': async () => {
    const { default: Database } = await load<{ default: HandleClass }>('better-sqlite3');
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

function missing(chosen: ClientName | undefined): string {
  const node = 'use Node 22.13 or newer, which has node:sqlite';
  const install = 'install it: npm install better-sqlite3';
  if (chosen === 'node:sqlite') return `node:sqlite cannot be loaded: ${node}`;
  if (chosen === 'better-sqlite3') return `better-sqlite3 cannot be loaded: ${install}`;
  return `no client for SQLite was found: npm install better-sqlite3, or ${node}`;
}
