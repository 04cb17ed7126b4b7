/** Stores in a database. Their packages are installed by the user, beside this one. */
import type { HoldfastStore } from 'holdfast';
import { usage } from './failure.js';
import { printable } from './view/words.js';

const POSTGRES = /^postgres(?:ql)?:\/\//;
/** Before the path of a file. */
const SQLITE = 'sqlite:';

export interface Database {
  readonly store: HoldfastStore;
  /** For messages: without the password. */
  readonly name: string;
}

/** True for the URL of a database. */
export function isDatabase(url: string): boolean {
  return POSTGRES.test(url) || url.startsWith(SQLITE);
}

/** @throws a usage error if the package is missing */
export async function databaseAt(url: string, table: string | undefined): Promise<Database> {
  if (url.startsWith(SQLITE)) return fileAt(url.slice(SQLITE.length), table);
  const { postgres } = await installed(POSTGRES_PARTS, () => import('holdfast-postgres'));
  const store = postgres(url, table === undefined ? {} : { table });
  return { store, name: nameOf(url) };
}

async function fileAt(path: string, table: string | undefined): Promise<Database> {
  if (path === '' || path.startsWith('//')) {
    throw usage('sqlite: needs the path of a file', 'give --url sqlite:locks.db');
  }
  if (table !== undefined) throw usage('a file has no --table', 'use another file, or --prefix');
  const { sqlite } = await installed(SQLITE_PARTS, () => import('holdfast-sqlite'));
  return { store: sqlite(path), name: `the file ${printable(path)}` };
}

/** The text of a URL may contain a password, so it is not shown whole. */
function nameOf(url: string): string {
  // with a socket, `pg` takes more forms than the standard has
  const { host, pathname } = URL.canParse(url) ? new URL(url) : { host: '', pathname: '' };
  return `the database ${printable(`${host}${pathname}`)}`.trim();
}

/** The names of the packages of a store. */
interface Parts {
  readonly store: string;
  readonly packages: readonly string[];
}
const POSTGRES_PARTS: Parts = { store: 'PostgreSQL', packages: ['holdfast-postgres', 'pg'] };
const SQLITE_PARTS: Parts = {
  store: 'SQLite',
  packages: ['holdfast-sqlite', 'better-sqlite3'],
};

async function installed<T>({ store, packages }: Parts, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    const message = `locks on ${store} need the packages ${packages.join(' and ')}`;
    throw usage(message, `npm install --global ${packages.join(' ')}`);
  }
}
