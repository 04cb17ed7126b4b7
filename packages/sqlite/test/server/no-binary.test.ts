/** better-sqlite3 is installed, but its install script did not run: it has no binary. */
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, expect, it } from 'vitest';
import { nodeWithSqlite } from '../node-with-sqlite.js';
import { inFolder } from '../support.js';

const folder = inFolder();
const require = createRequire(import.meta.url);
const PACKAGE = fileURLToPath(new URL('../..', import.meta.url));
const PROGRAM = `
import { Holdfast } from 'holdfast';
import { sqlite } from 'holdfast-sqlite';
const [file, client] = process.argv.slice(2);
const holdfast = new Holdfast(sqlite(file, { client }));
try {
  console.log(await holdfast.mutex('k').run(() => 'held'));
} catch (error) {
  console.log(error.code, error.message);
}
await holdfast.close();
`;

beforeAll(() => {
  const modules = join(folder.path, 'node_modules');
  const own = join(modules, 'holdfast-sqlite');
  mkdirSync(own, { recursive: true });
  for (const part of ['package.json', 'dist']) {
    cpSync(join(PACKAGE, part), join(own, part), { recursive: true });
  }
  const client = dirname(require.resolve('better-sqlite3/package.json'));
  const build = join(client, 'build');
  cpSync(client, join(modules, 'better-sqlite3'), {
    recursive: true,
    filter: (path) => !path.startsWith(build) && !path.startsWith(join(client, 'deps')),
  });
  for (const name of ['bindings', 'file-uri-to-path']) {
    const path = dirname(require.resolve(`${name}/package.json`, { paths: [client] }));
    symlinkSync(path, join(modules, name));
  }
  symlinkSync(join(PACKAGE, '../holdfast'), join(modules, 'holdfast'));
  writeFileSync(join(folder.path, 'program.mjs'), PROGRAM);
});

async function outcome(node: string, ...args: string[]): Promise<string> {
  const words = ['program.mjs', folder.file(), ...args];
  return (await promisify(execFile)(node, words, { cwd: folder.path })).stdout.trim();
}

it('takes node:sqlite where Node has it', async () => {
  expect(await outcome(await nodeWithSqlite())).toBe('held');
});

it('names the reason if better-sqlite3 was chosen', async () => {
  const text = await outcome(process.execPath, 'better-sqlite3');
  expect(text).toMatch(
    /^HOLDFAST_REFUSED .*is installed, and cannot open a file: allow its install/,
  );
});
