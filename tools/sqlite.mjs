/**
 * Compiles better-sqlite3, unless it can be loaded. `npm ci` does not run its install script: it
 * keeps one core busy for a minute, and `npm test` does other work beside it. The script takes a
 * finished binary if it can download one.
 *
 *   node tools/sqlite.mjs              as its authors compile it
 *   node tools/sqlite.mjs --quick      without optimization: in a third of the time
 *   node tools/sqlite.mjs --fast       again, if it was compiled without: for measurements
 *   node tools/sqlite.mjs --optional   a failure is no error; the demo needs no SQLite
 */
import { spawnSync } from 'node:child_process';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, dirname } from 'node:path';
import { parseArgs } from 'node:util';

const load = createRequire(new URL('../packages/testkit/package.json', import.meta.url));

/** Why the client cannot open a file, if it cannot. */
function problem() {
  try {
    const Database = /** @type {new (path: string) => { close(): void }} */ (
      load('better-sqlite3')
    );
    new Database(':memory:').close();
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

const flag = /** @type {const} */ ({ type: 'boolean', default: false });
const { values } = parseArgs({ options: { quick: flag, fast: flag, optional: flag } });
const cwd = dirname(load.resolve('better-sqlite3/package.json'));
const unoptimized = join(cwd, 'build', 'unoptimized');
const slow = values.fast && existsSync(unoptimized);
if (slow) rmSync(dirname(unoptimized), { recursive: true });

if (slow || problem() !== undefined) {
  const fast = values.quick ? { CFLAGS: '-O0', CXXFLAGS: '-O0' } : {};
  const { stdout, stderr, error } = spawnSync('npm', ['run', '--silent', 'install'], {
    ...{ cwd, env: { ...process.env, ...fast }, encoding: 'utf8' },
    // npm is a script there
    shell: process.platform === 'win32',
  });
  const left = problem();
  if (left === undefined && values.quick) writeFileSync(unoptimized, '');
  if (left !== undefined) {
    console.error(`${stdout ?? ''}${stderr ?? ''}${error ?? ''}`);
    console.error(`better-sqlite3 cannot be compiled: ${left}`);
    if (!values.optional) process.exitCode = 1;
  }
}
