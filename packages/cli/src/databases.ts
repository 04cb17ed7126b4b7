/** Stores in a database. Their packages are installed by the user, beside this one. */
import type { HoldfastStore } from 'holdfast';
import { usage } from './failure.js';
import { printable } from './view/words.js';

const POSTGRES = /^postgres(?:ql)?:\/\//;
/** Before the path of a file. */
const SQLITE = 'sqlite:';
/** The members have commas between them. */
const ETCD = /^etcd(s?):\/\/(?:([^@/]*)@)?([^@/]*)\/?$/;
const ETCD_PORT = 2379;

export interface Database {
  readonly store: HoldfastStore;
  /** For messages: without the password. */
  readonly name: string;
}

/** True for the URL of a database. */
export function isDatabase(url: string): boolean {
  return POSTGRES.test(url) || url.startsWith(SQLITE) || /^etcds?:\/\//.test(url);
}

/** @throws a usage error if the package is missing */
export async function databaseAt(url: string, table: string | undefined): Promise<Database> {
  if (url.startsWith(SQLITE)) return fileAt(url.slice(SQLITE.length), table);
  if (!POSTGRES.test(url)) return etcdAt(url, table);
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

async function etcdAt(url: string, table: string | undefined): Promise<Database> {
  if (table !== undefined) throw usage('etcd has no --table', 'use --prefix');
  const [, tls = '', login, members = ''] = ETCD.exec(url) ?? [];
  const endpoints = members.split(',').map((member) => {
    const address = /:\d+$/.test(member) ? member : `${member}:${ETCD_PORT}`;
    return `http${tls}://${address}`;
  });
  if (!endpoints.every((one) => URL.canParse(one))) {
    throw usage('etcd:// needs hosts', 'give --url etcd://user:password@a:2379,b:2379,c:2379');
  }
  const { etcd } = await installed(ETCD_PARTS, () => import('holdfast-etcd'));
  const store = etcd(endpoints, login === undefined ? {} : loginOf(login));
  return { store, name: `etcd ${printable(members)}` };
}

function loginOf(text: string): { user: string; password: string } {
  const [user = '', password = ''] = text.split(/:(.*)/s).map((part) => {
    try {
      return decodeURIComponent(part);
    } catch {
      throw usage('the user of the URL is not encoded', 'write %25 for %, and %40 for @');
    }
  });
  return { user, password };
}

/** The text of a URL may contain a password, so it is not shown whole. */
function nameOf(url: string): string {
  // with a socket, `pg` takes more forms than the standard has
  const { host, pathname } = URL.canParse(url) ? new URL(url) : { host: '', pathname: '' };
  // a password that is not encoded is cut at its first `/`
  const shown = pathname.includes('@') ? '' : `${host}${pathname}`;
  return `the database ${printable(shown)}`.trim();
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

const ETCD_PARTS: Parts = { store: 'etcd', packages: ['holdfast-etcd'] };

async function installed<T>({ store, packages }: Parts, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    const message = `locks on ${store} need the packages ${packages.join(' and ')}`;
    throw usage(message, `npm install --global ${packages.join(' ')}`);
  }
}
