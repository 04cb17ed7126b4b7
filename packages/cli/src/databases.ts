/** Stores in a database. Their packages are installed by the user, beside this one. */
import type { HoldfastStore } from 'holdfast';
import type * as HoldfastPostgres from 'holdfast-postgres';
import { usage } from './failure.js';
import { printable } from './view/words.js';

const POSTGRES = /^postgres(?:ql)?:\/\//;

export interface Database {
  readonly store: HoldfastStore;
  /** For messages: without the password. */
  readonly name: string;
}

/** True for the URL of a database. */
export function isDatabase(url: string): boolean {
  return POSTGRES.test(url);
}

/** @throws a usage error if the package is missing */
export async function databaseAt(url: string, table: string | undefined): Promise<Database> {
  const { postgres } = await installed();
  const store = postgres(url, table === undefined ? {} : { table });
  return { store, name: nameOf(url) };
}

/** The text of a URL may contain a password, so it is not shown whole. */
function nameOf(url: string): string {
  // with a socket, `pg` takes more forms than the standard has
  const { host, pathname } = URL.canParse(url) ? new URL(url) : { host: '', pathname: '' };
  return `the database ${printable(`${host}${pathname}`)}`.trim();
}

async function installed(): Promise<typeof HoldfastPostgres> {
  try {
    return await import('holdfast-postgres');
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    const message = 'locks on PostgreSQL need the packages holdfast-postgres and pg';
    throw usage(message, 'npm install --global holdfast-postgres pg');
  }
}
