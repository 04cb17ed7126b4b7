/**
 * `npm test`: builds, runs all checks and all tests, and lists the failures at the end.
 *
 *   npm test                            everything
 *   npm test -- --only lint,vitest      some of it
 *   npm test -- --only vitest mutex     tests in files with `mutex` in their path
 *
 * A failed check does not stop the others. The last line is always `N passed, N failed`: each
 * check counts as one, and each test case.
 *
 * Tests on real servers mostly wait. The tests that compute, the model, and the checks of the
 * sources run in the background at a low priority and use the processor in the meantime. When only
 * they are left, they get the ordinary priority: beside a busy program they would wait for it.
 */
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { performance } from 'node:perf_hooks';
import { parseArgs } from 'node:util';
import { hurry, root, run } from './run.mjs';

/**
 * @typedef {object} Check
 * @property {string} name
 * @property {string} command
 * @property {string} [hint] Advice for a failure.
 */

/** Ends before any test begins. It needs one core for long, so it runs beside the first checks. */
const SQLITE = { name: 'sqlite', command: 'node tools/sqlite.mjs' };

/** The package as it is published. */
const PACK = { name: 'pack', command: 'node tools/pack.mjs' };

/** @type {Check[]} In this order, before all others, which read their output. */
const FIRST = [
  { name: 'lock', command: 'node tools/lock.mjs --check', hint: 'node tools/lock.mjs' },
  { name: 'build', command: 'npm run --silent compile' },
];

/** @type {Check[]} */
const CHECKS = [
  { name: 'format', command: 'biome format', hint: 'npm run format' },
  { name: 'lint', command: 'npm run --silent lint' },
  { name: 'knip', command: 'knip --no-progress' },
  { name: 'publint', command: 'publint packages/holdfast/publish --strict' },
  { name: 'publint-cli', command: 'publint packages/cli --strict' },
  { name: 'publint-otel', command: 'publint packages/otel --strict' },
  { name: 'publint-postgres', command: 'publint packages/postgres --strict' },
  { name: 'publint-sqlite', command: 'publint packages/sqlite --strict' },
  { name: 'publint-etcd', command: 'publint packages/etcd --strict' },
  { name: 'publint-dashboard', command: 'publint packages/dashboard --strict' },
  { name: 'attw-dashboard', command: 'attw --pack packages/dashboard --profile esm-only' },
  { name: 'attw-otel', command: 'attw --pack packages/otel --profile esm-only' },
  {
    name: 'attw-postgres',
    // an entry of SQL has no types
    command: 'attw --pack packages/postgres --profile esm-only --exclude-entrypoints holdfast.sql',
  },
  { name: 'attw-sqlite', command: 'attw --pack packages/sqlite --profile esm-only' },
  { name: 'attw-etcd', command: 'attw --pack packages/etcd --profile esm-only' },
  { name: 'attw', command: 'attw --pack packages/holdfast/publish' },
  {
    name: 'api',
    command: 'node tools/api.mjs --check',
    hint: 'npm run api, and review the changes in packages/holdfast/etc',
  },
  { name: 'docs', command: 'node tools/docs.mjs --check' },
];

/** Needs a core for more than a minute. */
const MODEL = { name: 'model', command: 'node tools/model.mjs' };

/** The projects of `vitest.config.ts`: those that compute, and those that wait in real time. */
const COMPUTING = ['unit', 'instruments'];
const WAITING = ['server', 'long', 'alone', 'realtime'];

/** A busy program beside the background leaves it a sixth of a processor; at 19 a seventieth. */
const NICE = 7;

/**
 * With it the programs that the tests start load the package as it is published. It has few
 * files instead of 140, so each program needs a tenth of a second less of processor time.
 */
const PACKED = '--conditions=holdfast-packed';

/** The length of an error message in the list of failures, in characters. */
const MESSAGE_MAX = 2000;

/** @typedef {import('./run.mjs').How} How */

/**
 * @param {Check} check
 * @param {How} [how]
 * @returns {Promise<boolean>}
 */
async function runCheck(check, how = {}) {
  const [command = '', ...args] = check.command.split(' ');
  const start = performance.now();
  const { ok, output } = await run(command, args, how);
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  console.log(`${ok ? 'ok    ' : 'FAILED'} ${check.name} (${seconds} s)`);
  if (!ok) {
    console.log(output.trimEnd());
    if (check.hint !== undefined) console.log(`to do: ${check.hint}`);
  }
  return ok;
}

/** @typedef {{ passed: number, failed: string[] }} Counts */

/**
 * Runs the tests of some projects and counts their cases.
 * @param {string[]} projects
 * @param {string[]} filters
 * @param {How} how
 * @returns {Promise<Counts>}
 */
async function runVitest(projects, filters, how) {
  const results = join(root, '.cache', `vitest-${projects[0]}.json`);
  mkdirSync(dirname(results), { recursive: true });
  // Otherwise the file of an earlier run would be counted if this run crashes.
  rmSync(results, { force: true });
  const start = performance.now();
  const { ok, output } = await run(
    'vitest',
    [
      ...['run', '--passWithNoTests', '--reporter=default', '--reporter=json'],
      ...[`--outputFile.json=${results}`, ...projects.map((name) => `--project=${name}`)],
      ...filters,
    ],
    how,
  );
  const counts = countCases(results);
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  if (!ok) console.log(output);
  console.log(`${ok ? 'ok    ' : 'FAILED'} ${projects.join(' ')} (${seconds} s)`);
  // For example an error outside of any test: all cases pass, but the run fails.
  if (!ok && counts.failed.length === 0) counts.failed.push(`vitest of ${projects.join(' ')}`);
  return counts;
}

/**
 * @param {string} results
 * @returns {Counts}
 */
function countCases(results) {
  /** @type {Counts} */
  const counts = { passed: 0, failed: [] };
  let text = '';
  try {
    text = readFileSync(results, 'utf8');
  } catch {
    return counts;
  }
  for (const file of JSON.parse(text).testResults) {
    const before = counts.failed.length;
    const path = relative(root, file.name);
    for (const { status, fullName, failureMessages } of file.assertionResults) {
      if (status === 'passed') counts.passed += 1;
      if (status !== 'failed') continue;
      const why = String(failureMessages?.[0] ?? '')
        .split('\n', 1)[0]
        ?.slice(0, MESSAGE_MAX);
      counts.failed.push(`${path}: ${fullName.trim()}\n  ${why}`);
    }
    // A file that cannot be loaded has failed, although it has no cases.
    if (file.status === 'failed' && counts.failed.length === before) counts.failed.push(path);
  }
  return counts;
}

async function main() {
  const { values, positionals } = parseArgs({
    options: { only: { type: 'string' } },
    allowPositionals: true,
  });
  const known = [...[SQLITE, ...FIRST, PACK, ...CHECKS, MODEL].map(({ name }) => name), 'vitest'];
  const chosen = values.only?.split(',') ?? known;
  const unknown = chosen.filter((name) => !known.includes(name));
  if (unknown.length > 0) {
    throw new Error(`unknown check ${unknown.join(', ')}; use ${known.join(', ')}`);
  }

  let passed = 0;
  /** @type {string[]} */
  const failed = [];
  const check = async (/** @type {Check} */ one, /** @type {How} */ how = {}) => {
    if (!chosen.includes(one.name)) return;
    const ok = await runCheck(one, how);
    if (ok) passed += 1;
    else failed.push(one.name);
    return ok;
  };
  const sqlite = check(SQLITE);
  for (const one of FIRST) await check(one);
  const isPacked = await check(PACK);
  await sqlite;
  const background = { priority: NICE };
  const checks = async () => {
    for (const one of CHECKS) await check(one, background);
  };
  const tests = async () => {
    if (!chosen.includes('vitest')) return;
    const options = [process.env['NODE_OPTIONS'], isPacked === true ? PACKED : ''].join(' ').trim();
    const env = { NODE_OPTIONS: options };
    const runs = await Promise.all([
      runVitest(COMPUTING, positionals, background),
      // what is left has the processor for itself
      runVitest(WAITING, positionals, { show: true, env }).finally(hurry),
    ]);
    for (const counts of runs) {
      passed += counts.passed;
      failed.push(...counts.failed);
    }
    if (runs.every((counts) => counts.passed + counts.failed.length === 0)) {
      failed.push('vitest ran no test');
    }
  };
  await Promise.all([checks(), check(MODEL, background), tests()]);
  for (const name of failed) console.log(`failed: ${name}`);
  console.log(`${passed} passed, ${failed.length} failed`);
  process.exitCode = failed.length === 0 ? 0 : 1;
}

await main();
