/** The habits of this repository that a program can check. Each rule is shown to fire as well. */
import { execFileSync, spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { clientImports, clientNames, clocks, consoles, testFlags } from './code-rules.js';
import { layering } from './layers.js';
import type { SourceFile } from './syntax.js';
import { deadLinks, lockedHosts, longLua, machinePaths, wideLines } from './text-rules.js';

const root = fileURLToPath(new URL('../../../..', import.meta.url));
const SRC = 'packages/holdfast/src/';

/** What git knows or would add, so that a new file is checked before it is committed. */
const paths = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\n')
  .filter((path) => path !== '' && existsSync(join(root, path)));

const readable = /\.(ts|mts|js|mjs|json|lua|md|html|css|sh|c|yml|yaml)$|(^|\/)(\.\w+|run)$/;
const files: SourceFile[] = paths
  .filter((path) => readable.test(path))
  .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));

const written = files.filter(({ path }) => !/\/generated\/|\.api\.md$/.test(path));
const source = written.filter(({ path }) => path.startsWith(SRC) && path.endsWith('.ts'));

interface Rule {
  readonly name: string;
  readonly rule: (file: SourceFile) => string[];
  readonly files: readonly SourceFile[];
  /** Samples that must be found, as path and text. */
  readonly bad: readonly (readonly [path: string, text: string])[];
  /** Samples that look alike, and must not be found. */
  readonly good: readonly (readonly [path: string, text: string])[];
}

const rules: Rule[] = [
  {
    name: 'lines have at most 100 columns',
    rule: wideLines,
    files: written.filter(({ path }) => /\.(ts|mjs|lua|md|sh)$/.test(path)),
    bad: [
      ['a.ts', `// ${'x'.repeat(98)}`],
      ['a.md', 'x'.repeat(101)],
    ],
    good: [
      ['a.ts', `// ${'é'.repeat(97)}`],
      ['a.md', `| ${'x'.repeat(200)} |`],
    ],
  },
  {
    name: 'Lua files have at most 300 lines, their functions 70',
    rule: longLua,
    files: written.filter(({ path }) => path.endsWith('.lua')),
    bad: [
      ['a.lua', 'x()\n'.repeat(301)],
      ['a.lua', `local function f()\n${'  x()\n'.repeat(69)}end\n`],
    ],
    good: [['a.lua', `local function f()\n${'  x()\n'.repeat(68)}end\n${'x()\n'.repeat(100)}`]],
  },
  {
    name: "no file names a path of a developer's machine",
    rule: machinePaths,
    files,
    // Put together here, or this file would break the rule.
    bad: ['home', 'Users', 'root', 'work'].map((folder) => ['a.md', `see /${folder}/somebody/x`]),
    good: [['a.ts', "const url = 'http://x/home/somebody'; import '../work/x.js'"]],
  },
  {
    name: 'the lock file names no registry',
    rule: lockedHosts,
    files: files.filter(({ path }) => path === 'package-lock.json'),
    bad: [['package-lock.json', '"resolved": "https://registry.example/a.tgz"']],
    good: [['package-lock.json', '"resolved": "packages/holdfast"']],
  },
  {
    name: 'links between documents lead to files that exist',
    rule: (file) => deadLinks(file, new Set(paths)),
    files: files.filter(({ path }) => path.endsWith('.md')),
    bad: [
      ['docs/a.md', '[the test](../packages/none.test.ts)'],
      ['a.md', '[here](docs/none.md#part) and [there](README.md)'],
    ],
    good: [
      ['docs/a.md', '[up](../README.md#use), [the sources](../packages/holdfast/src/)'],
      ['a.md', '[far](https://example.org/x.md), [below](#use), `[no](link.md)`'],
    ],
  },
  {
    name: 'only clock.ts names a clock',
    rule: clocks,
    files: source.filter(({ path }) => path !== `${SRC}clock.ts`),
    bad: [
      'Date.now()',
      'let a: Date',
      'performance.now()',
      'const { now } = performance',
      'process.hrtime()',
      'setTimeout(f)',
      'globalThis.setInterval(f)',
      "globalThis['setImmediate'](f)",
      'AbortSignal.timeout(1)',
      "import { setTimeout as sleep } from 'node:timers/promises'",
      'const clock = { setTimeout }',
    ].map((text) => ['a.ts', text]),
    good: [
      ['a.ts', "// Date\nconst a = 'setTimeout'; clock.setTimeout(f); class B { setTimeout() {} }"],
      ['a.ts', 'interface A { Date: number; performance(): void }'],
    ],
  },
  {
    name: 'no file imports a client',
    rule: clientImports,
    files: source,
    bad: [
      "import { Redis } from 'ioredis'",
      "import type { RedisClientType } from 'redis'",
      "export * from '@redis/client'",
      "const client = await import('redis')",
      "type A = import('ioredis').Redis",
      "const redis = require('redis')",
    ].map((text) => ['a.ts', text]),
    good: [['a.ts', "import { port } from './redis/ioredis.js'; const a = 'redis'"]],
  },
  {
    name: 'only clients/ names a client',
    rule: clientNames,
    files: source.filter(({ path }) => !path.startsWith(`${SRC}clients/`)),
    bad: ["const a = 'ioredis'", 'isIoredis(client)', 'const a = `a node-redis`'].map((text) => [
      'a.ts',
      text,
    ]),
    good: [['a.ts', "export { fromIoredis } from './clients/ioredis.js' // ioredis"]],
  },
  {
    name: 'no source writes to the console',
    rule: consoles,
    files: source,
    bad: [['a.ts', 'console.log(1)']],
    good: [['a.ts', '// console\nthis.console(1)']],
  },
  {
    name: 'no test is left out',
    rule: testFlags,
    files: written.filter(({ path }) => path.endsWith('.test.ts')),
    bad: ['it.only(f)', 'describe.skip(f)', 'test.concurrent.todo(f)', 'it.skip.each([])'].map(
      (text) => ['a.test.ts', text],
    ),
    good: [['a.test.ts', "queue.skip(1); it('only .skip', f)"]],
  },
  {
    name: 'dependencies point inwards',
    rule: layering,
    files: source,
    bad: [
      [`${SRC}engine/a.ts`, "import type { Store } from '../store/port.js'"],
      [`${SRC}engine/a.ts`, "import { hash } from 'node:crypto'"],
      [`${SRC}clients/a.ts`, "import { Clock } from '../clock.js'"],
      [`${SRC}store/memory/a.ts`, "import { b } from '../redis/b.js'"],
      [`${SRC}store/redis/a.ts`, "import { b } from '../../acquire/b.js'"],
      [`${SRC}primitives/a.ts`, "export { b } from '../store/memory/b.js'"],
      [`${SRC}acquire/a.ts`, "type B = import('../clients/port.js').ClientPort"],
      [`${SRC}lease/b.ts`, "import { b } from '../store/redis/b.js'"],
      [`${SRC}lease/a.ts`, "await import('../clients/b.js')"],
      [`${SRC}holdfast.ts`, "import { b } from './index.js'"],
    ],
    good: [
      [`${SRC}engine/a.ts`, "import { b } from './b.js'"],
      [`${SRC}store/memory/a.ts`, "import { b } from '../port.js'"],
      [`${SRC}store/redis/a.ts`, "import type { ClientPort } from '../../clients/port.js'"],
      [`${SRC}primitives/a.ts`, "import type { Store } from '../store/port.js'"],
    ],
  },
];

for (const { name, rule, files: checked, bad, good } of rules) {
  it(name, () => {
    expect(checked.flatMap(rule)).toEqual([]);
  });

  it(`would be noticed: ${name}`, () => {
    const silent = bad.filter(([path, text]) => rule({ path, text }).length === 0);
    expect(silent).toEqual([]);
    expect(good.flatMap(([path, text]) => rule({ path, text }))).toEqual([]);
  });
}

describe('the linter', () => {
  // That the tree is clean, `npm test` asks of the linter itself.
  it('notices long files, long functions and forgotten promises', () => {
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-lint-'));
    try {
      const add = (name: string, text: string): void => writeFileSync(join(folder, name), text);
      copyFileSync(join(root, '.oxlintrc.json'), join(folder, '.oxlintrc.json'));
      add('tsconfig.json', '{ "compilerOptions": { "strict": true } }');
      add('file.ts', 'export {};\n'.repeat(301));
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
