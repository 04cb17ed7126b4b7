/**
 * The first lock of the page of each store, with each of its clients, in a project that has the
 * packed packages and this client alone. The program is that of the page, and ends itself.
 */
import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import {
  type Etcd,
  freePorts,
  paced,
  type Postgres,
  startEtcd,
  startPostgres,
} from 'holdfast-testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tool } from './project.js';

const repository = fileURLToPath(new URL('../../../../', import.meta.url));

/** What a client needs. */
interface Case {
  readonly store: 'postgres' | 'sqlite' | 'etcd';
  /** Packages beside those of the release. */
  readonly install?: readonly string[];
  /** Parts of the program of the page, and what is there for this client. */
  readonly instead?: readonly (readonly [string, string])[];
  readonly runtime?: string;
}

const PG_IMPORT = "import { Pool } from 'pg';";
const PG_POOL = 'new Pool({ connectionString: process.env.DATABASE_URL })';
const PG_END = 'pool.end()';
const RUN_IN_POOL = '((text, values) => db.query(text, values))';

const CASES: Record<string, Case> = {
  'a pool of pg': { store: 'postgres', install: ['pg'] },
  'postgres.js': {
    store: 'postgres',
    install: ['postgres'],
    instead: [
      [PG_IMPORT, "import connect from 'postgres';"],
      [PG_POOL, 'connect(process.env.DATABASE_URL)'],
    ],
  },
  PGlite: {
    store: 'postgres',
    install: ['@electric-sql/pglite'],
    instead: [
      [PG_IMPORT, "import { PGlite } from '@electric-sql/pglite';"],
      [PG_POOL, 'new PGlite()'],
      [PG_END, 'pool.close()'],
    ],
  },
  'a function of PostgreSQL': {
    store: 'postgres',
    install: ['pg'],
    instead: [
      [PG_IMPORT, `${PG_IMPORT}\nconst db = ${PG_POOL};`],
      [`pool = ${PG_POOL}`, `pool = ${RUN_IN_POOL}`],
      [PG_END, 'db.end()'],
    ],
  },
  'better-sqlite3': { store: 'sqlite', install: ['better-sqlite3'] },
  'node:sqlite': { store: 'sqlite', runtime: 'node-24' },
  'etcd with node:http': { store: 'etcd' },
  'etcd with fetch': { store: 'etcd', instead: [['etcd(members)', 'etcd(members, { fetch })']] },
};

/** @param project the folder of a project that has the packages of a release, and nothing else */
export function firstLocks(project: () => string): void {
  let postgres: Postgres;
  let etcd: Etcd;
  let DATABASE_URL: string;
  beforeAll(async () => {
    // postgres.js takes no socket in a URL
    const [port] = await freePorts(1);
    const settings = { listen_addresses: '127.0.0.1', port: String(port) };
    [postgres, etcd] = await Promise.all([startPostgres({ settings }), startEtcd({ members: 3 })]);
    const { user, database } = postgres.connection;
    DATABASE_URL = `postgres://${user}@127.0.0.1:${port}/${database}`;
  }, 120_000);
  afterAll(async () => {
    await postgres?.[Symbol.asyncDispose]();
    await etcd?.[Symbol.asyncDispose]();
  });

  /** Runs a program whose work says that it has the lock. Resolves to the output. */
  async function run({ store, install = [], runtime }: Case, program: string): Promise<string> {
    const [inside] = /\n *\/\/ one process.* at a time/.exec(program) ?? [];
    if (inside === undefined) throw new Error('the program has no work');
    const file = join(project(), `${store}.mjs`);
    writeFileSync(file, program.replace(inside, `${inside}\n  console.log('in', lease.held);`));
    const links = install.map((name) => join(project(), 'node_modules', name));
    for (const [at, link] of links.entries()) {
      mkdirSync(dirname(link), { recursive: true });
      symlinkSync(join(repository, 'node_modules', install[at] as string), link);
    }
    const node = runtime === undefined ? process.execPath : tool(runtime);
    try {
      const { stdout } = await promisify(execFile)(node, [file], {
        cwd: project(),
        env: { ...process.env, DATABASE_URL },
      });
      return stdout;
    } finally {
      for (const link of links) rmSync(link);
    }
  }

  function programFor({ store, instead = [] }: Case): string {
    let program = programOf(store);
    for (const [part, other] of instead) {
      if (!program.includes(part)) throw new Error(`the page of ${store} has no ${part}`);
      program = program.replace(part, other);
    }
    let at = 0;
    return program.replaceAll(/http:\/\/10[.\d]+:2379/g, () => etcd.endpoints[at++] as string);
  }

  describe('the first lock', { timeout: paced(60_000) }, () => {
    it.each(Object.keys(CASES))('with %s', async (name) => {
      const one = CASES[name] as Case;
      expect(await run(one, programFor(one))).toBe('in true\n');
    });

    it('fails without the client, and with a mistake on the page: control', async () => {
      const [pg, file] = [CASES['a pool of pg'], CASES['better-sqlite3']] as [Case, Case];
      const without = { ...pg, install: [] };
      await expect(run(without, programFor(without))).rejects.toThrow(/package 'pg'/);
      const wrong = programFor(file).replace("'locks.db'", "'missing/locks.db'");
      await expect(run(file, wrong)).rejects.toThrow('ENOENT');
    });
  });
}

/** The program of a page. */
function programOf(store: string): string {
  const page = readFileSync(join(repository, 'packages', store, 'README.md'), 'utf8');
  const found = /## The first lock\n[^#]*?```ts\n(.*?)```/s.exec(page)?.[1];
  if (found === undefined) throw new Error(`the page of ${store} has no first lock`);
  return found;
}
