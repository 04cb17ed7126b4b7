/**
 * Compiles better-sqlite3, unless it can be loaded. `npm ci` does not run its install script: it
 * keeps one core busy for a minute, and `npm test` does other work beside it. Without optimization
 * it takes a third of that. The script takes a finished binary if it can download one.
 *
 *   node tools/sqlite.mjs              without optimization
 *   node tools/sqlite.mjs --fast       with it, also if it was compiled without: for measurements
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
const { values } = parseArgs({ options: { fast: flag, optional: flag } });
const cwd = dirname(load.resolve('better-sqlite3/package.json'));
const unoptimized = join(cwd, 'build', 'unoptimized');
const slow = values.fast && existsSync(unoptimized);
if (slow) rmSync(dirname(unoptimized), { recursive: true });

if (slow || problem() !== undefined) {
  console.error('compiles better-sqlite3, once');
  const flags = values.fast ? {} : { CFLAGS: '-O0', CXXFLAGS: '-O0' };
  const { stdout, stderr, error } = spawnSync('npm', ['run', '--silent', 'install'], {
    ...{ cwd, env: { ...process.env, ...flags }, encoding: 'utf8' },
    // npm is a script there
    shell: process.platform === 'win32',
  });
  const left = problem();
  if (left === undefined && !values.fast) writeFileSync(unoptimized, '');
  if (left !== undefined) {
    console.error(`${stdout ?? ''}${stderr ?? ''}${error ?? ''}`);
    console.error(`better-sqlite3 cannot be compiled: ${left}`);
    if (!values.optional) process.exitCode = 1;
  }
}
