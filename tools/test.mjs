/**
 * `npm test`: builds, runs all checks and all tests, and lists the failures at the end.
 *
 *   npm test                            everything
 *   npm test -- --only lint,vitest      some of it
 *   npm test -- --only vitest mutex     tests in files with `mutex` in their path
 *
 * A failed check does not stop the others. The last line is always `N passed, N failed`: each
 * check counts as one, and each test case.
 */
import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { delimiter, join, relative } from 'node:path';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const root = fileURLToPath(new URL('..', import.meta.url));
const RESULTS = '.cache/vitest.json';
/** Longer than any check takes; a hung check is ended after this time. */
const LIMIT_MS = 40 * 60_000;

/**
 * @typedef {object} Check
 * @property {string} name
 * @property {string} command
 * @property {string} [hint] Advice for a failure.
 */

/** @type {Check[]} In this order: later checks read the output of the build. */
const CHECKS = [
  { name: 'lock', command: 'node tools/lock.mjs --check', hint: 'node tools/lock.mjs' },
  { name: 'build', command: 'npm run --silent build' },
  { name: 'format', command: 'biome format', hint: 'npm run format' },
  { name: 'lint', command: 'npm run --silent lint' },
  { name: 'knip', command: 'knip --no-progress' },
  { name: 'publint', command: 'publint packages/holdfast --strict' },
  { name: 'attw', command: 'attw --pack packages/holdfast --profile esm-only' },
  {
    name: 'api',
    command: 'node tools/api.mjs --check',
    hint: 'npm run api, and review the changes in packages/holdfast/etc',
  },
];

/** Runs during the unit tests, which do not measure time; it needs a core for a minute. */
const MODEL = { name: 'model', command: 'node tools/model.mjs' };

/**
 * @typedef {object} Run
 * @property {boolean} ok
 * @property {string} output
 */

/**
 * Runs a command; its output is either shown immediately or collected.
 * @param {string} command
 * @param {string[]} args
 * @param {boolean} show
 * @returns {Promise<Run>}
 */
function run(command, args, show) {
  const path = `${join(root, 'node_modules/.bin')}${delimiter}${process.env['PATH']}`;
  const child = spawn(command, args, {
    cwd: root,
    env: { ...process.env, PATH: path },
    stdio: ['ignore', show ? 'inherit' : 'pipe', show ? 'inherit' : 'pipe'],
    timeout: LIMIT_MS,
  });
  let output = '';
  const keep = (/** @type {Buffer} */ chunk) => {
    output += chunk.toString();
  };
  child.stdout?.on('data', keep);
  child.stderr?.on('data', keep);
  return new Promise((resolve) => {
    child.on('error', (error) => resolve({ ok: false, output: String(error) }));
    child.on('close', (code, signal) => {
      const ending = signal === null ? '' : `ended by ${signal}\n`;
      resolve({ ok: code === 0, output: output + ending });
    });
  });
}

/**
 * @param {Check} check
 * @returns {Promise<boolean>}
 */
async function runCheck(check) {
  const [command = '', ...args] = check.command.split(' ');
  const start = performance.now();
  const { ok, output } = await run(command, args, false);
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
 * Runs the tests and counts their cases.
 * @param {string[]} filters
 * @returns {Promise<Counts>}
 */
async function runVitest(filters) {
  mkdirSync(join(root, '.cache'), { recursive: true });
  // Otherwise the file of an earlier run would be counted if this run crashes.
  rmSync(join(root, RESULTS), { force: true });
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${RESULTS}`];
  const { ok, output } = await run('vitest', ['run', ...reporters, ...filters], true);
  const counts = countCases();
  if (counts.passed + counts.failed.length === 0) counts.failed.push('vitest ran no test');
  // For example an error outside of any test: all cases pass, but the run fails.
  if (!ok && counts.failed.length === 0) counts.failed.push(`vitest failed ${output.trim()}`);
  return counts;
}

/** @returns {Counts} */
function countCases() {
  /** @type {Counts} */
  const counts = { passed: 0, failed: [] };
  let text = '';
  try {
    text = readFileSync(join(root, RESULTS), 'utf8');
  } catch {
    return counts;
  }
  for (const file of JSON.parse(text).testResults) {
    const before = counts.failed.length;
    const path = relative(root, file.name);
    for (const { status, fullName } of file.assertionResults) {
      if (status === 'passed') counts.passed += 1;
      if (status === 'failed') counts.failed.push(`${path}: ${fullName.trim()}`);
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
  const known = [...CHECKS.map(({ name }) => name), MODEL.name, 'vitest'];
  const chosen = values.only?.split(',') ?? known;
  const unknown = chosen.filter((name) => !known.includes(name));
  if (unknown.length > 0) {
    throw new Error(`unknown check ${unknown.join(', ')}; use ${known.join(', ')}`);
  }

  let passed = 0;
  const failed = [];
  for (const check of CHECKS.filter(({ name }) => chosen.includes(name))) {
    if (await runCheck(check)) passed += 1;
    else failed.push(check.name);
  }
  const model = chosen.includes(MODEL.name) ? runCheck(MODEL) : undefined;
  if (chosen.includes('vitest')) {
    const counts = await runVitest(positionals);
    passed += counts.passed;
    failed.push(...counts.failed);
  }
  if (model !== undefined) {
    if (await model) passed += 1;
    else failed.push(MODEL.name);
  }
  for (const name of failed) console.log(`failed: ${name}`);
  console.log(`${passed} passed, ${failed.length} failed`);
  process.exitCode = failed.length === 0 ? 0 : 1;
}

await main();
