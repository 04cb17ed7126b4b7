/** The first lock of the page of each store: its program runs as it is there, and ends itself. */
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { paced, startEtcd, startPostgres } from 'holdfast-testkit';
import { afterAll, describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../../../', import.meta.url));
// packages are found from here
const cache = join(root, '.cache');
mkdirSync(cache, { recursive: true });
const folder = mkdtempSync(join(cache, 'first-lock-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const LIMIT = { timeout: paced(60_000) };

/** The program of a page. */
function programOf(store: string): string {
  const page = readFileSync(join(root, 'packages', store, 'README.md'), 'utf8');
  const found = /## The first lock\n[^#]*?```ts\n(.*?)```/s.exec(page)?.[1];
  if (found === undefined) throw new Error(`the page of ${store} has no first lock`);
  return found;
}

/** Runs a program whose work says that it has the lock. Resolves to the output. */
async function run(store: string, program: string, env: object = {}): Promise<string> {
  const [inside] = /\n *\/\/ one process.* at a time/.exec(program) ?? [];
  if (inside === undefined) throw new Error('the program has no work');
  const file = join(folder, `${store}.mjs`);
  writeFileSync(file, program.replace(inside, `${inside}\n  console.log('in', lease.held);`));
  const { stdout } = await promisify(execFile)(process.execPath, [file], {
    cwd: folder,
    env: { ...process.env, ...env },
  });
  return stdout;
}

describe('the first lock', () => {
  it('in a file', LIMIT, async () => {
    expect(await run('sqlite', programOf('sqlite'))).toBe('in true\n');
  });

  it('on PostgreSQL', LIMIT, async () => {
    await using server = await startPostgres();
    const { host, user, database } = server.connection;
    const url = `postgres://${user}@/${database}?host=${encodeURIComponent(host)}`;
    expect(await run('postgres', programOf('postgres'), { DATABASE_URL: url })).toBe('in true\n');
  });

  it('on etcd', LIMIT, async () => {
    await using cluster = await startEtcd({ members: 3 });
    let at = 0;
    const program = programOf('etcd').replaceAll(/http:\/\/10[.\d]+:2379/g, () => {
      return cluster.endpoints[at++] as string;
    });
    expect(at).toBe(3);
    expect(await run('etcd', program)).toBe('in true\n');
  });

  it('of a page with a mistake fails: control', LIMIT, async () => {
    const wrong = programOf('sqlite').replace("'locks.db'", "'missing/locks.db'");
    await expect(run('sqlite', wrong)).rejects.toThrow('ENOENT');
  });
});
