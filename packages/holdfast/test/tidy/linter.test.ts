/** The linter is set up, and fires. */
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../../..', import.meta.url));

describe('the linter', () => {
  // `npm test` runs the linter on the repository itself.
  it('reports long files, long functions and forgotten promises', () => {
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-lint-'));
    try {
      const add = (name: string, text: string): void => writeFileSync(join(folder, name), text);
      copyFileSync(join(root, '.oxlintrc.json'), join(folder, '.oxlintrc.json'));
      add('tsconfig.json', '{ "compilerOptions": { "strict": true } }');
      add('file.ts', 'export {};\n'.repeat(401));
      add('function.ts', `export function f() {\n${'  f();\n'.repeat(69)}}\n`);
      add('promise.ts', 'export async function f(): Promise<void> {}\nf();\nif (f()) f;\n');
      const oxlint = join(root, 'node_modules/.bin/oxlint');
      const run = spawnSync(oxlint, [], { cwd: folder, encoding: 'utf8' });
      expect(run.status).toBe(1);
      for (const rule of ['max-lines', 'max-lines-per-function', 'no-misused-promises']) {
        expect(run.stdout).toContain(`(${rule})`);
      }
      expect(run.stdout).toContain('(no-floating-promises)');
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
