/** Repeated runs of a test that fails by chance, in a vitest of its own. */
import { execFile } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const folder = join(root, '.cache/repeats');
afterAll(() => rmSync(folder, { recursive: true }));

/** Runs a test whose third run fails. */
function outputOf(repeats: number): Promise<string> {
  mkdirSync(folder, { recursive: true });
  const text =
    `import { expect, it } from 'vitest';\n` +
    `let runs = 0;\n` +
    `it('fails by chance', () => expect((runs += 1)).not.toBe(3));\n`;
  writeFileSync(join(folder, 'chance.test.mjs'), text);
  const runner = join(root, 'packages/testkit/src/repeating-runner.ts');
  const config = `export default { test: { runner: ${JSON.stringify(runner)} } };\n`;
  writeFileSync(join(folder, 'vitest.config.mjs'), config);
  const env = { ...process.env, HOLDFAST_REPEATS: `${repeats}` };
  const args = [join(root, 'node_modules/vitest/vitest.mjs'), 'run', '--root', folder];
  return new Promise((resolve) => {
    execFile(process.execPath, args, { env }, (_, stdout, stderr) => resolve(stdout + stderr));
  });
}

it('finds a test that fails by chance, and none in too few runs', async () => {
  expect(await outputOf(1)).toContain('1 passed');
  expect(await outputOf(2)).toContain('1 failed');
});
