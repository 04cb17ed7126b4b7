/** Every suite and the contract with `node:sqlite`, in a version of Node that has it. */
import { paced } from 'holdfast-testkit';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { nodeWithSqlite } from '../node-with-sqlite.js';
import { inFolder } from '../support.js';

const root = fileURLToPath(new URL('../../../..', import.meta.url));
const FILES = [
  'packages/holdfast/test/server/sqlite.suites.test.ts',
  ...['contract', 'outages', 'processes'].map(
    (name) => `packages/sqlite/test/server/${name}.test.ts`,
  ),
];
const folder = inFolder();

interface Case {
  readonly status: string;
  readonly fullName: string;
  readonly failureMessages: readonly string[];
}

interface Report {
  readonly numPassedTests: number;
  readonly testResults: readonly { readonly assertionResults: readonly Case[] }[];
}

it('all of them pass with node:sqlite', { timeout: paced(600_000) }, async () => {
  const node = await nodeWithSqlite();
  const output = join(folder.path, 'report.json');
  const own = Object.entries(process.env).filter(([name]) => !name.startsWith('VITEST'));
  const env = { ...Object.fromEntries(own), HOLDFAST_SQLITE_CLIENT: 'node:sqlite' };
  const args = ['node_modules/vitest/vitest.mjs', 'run', '--project=server', ...FILES];
  const report = ['--reporter=json', `--outputFile=${output}`];
  // the report tells more than the exit code
  await promisify(execFile)(node, [...args, ...report], { cwd: root, env }).catch(() => undefined);
  const { numPassedTests, testResults } = JSON.parse(readFileSync(output, 'utf8')) as Report;
  const cases = testResults.flatMap(({ assertionResults }) => assertionResults);
  const others = cases.filter(({ status }) => status !== 'passed');
  expect(others.map((one) => [one.fullName, ...one.failureMessages])).toEqual([]);
  expect(testResults.length).toBe(FILES.length);
  expect(numPassedTests).toBeGreaterThan(400);
});
