/** The rules of this repository that a program can check. Each has samples on which it fires. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { byFolder, LIMIT, rate, readable as prose } from '../../../../tools/plain-english.mjs';
import { clientImports, clientNames, clocks, consoles, testFlags } from './code-rules.js';
import { layering } from './layers.js';
import type { SourceFile } from './syntax.js';
import {
  databaseNames,
  deadLinks,
  lockedHosts,
  longLua,
  machinePaths,
  wideLines,
} from './text-rules.js';
import { COMMENTS_LIMIT, commentWords, PAGES_LIMIT, pageBytes } from './volume.js';
import { foreignReleases, foreignWrites } from './writers.js';

const root = fileURLToPath(new URL('../../../..', import.meta.url));
const SRC = 'packages/holdfast/src/';

/** Tracked and untracked files, so that a new file is checked before it is committed. */
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

const FOREIGN = /\/generated\/|\/support\/prisma\/|\.api\.md$/;
const written = files.filter(({ path }) => !FOREIGN.test(path));
const source = written.filter(({ path }) => path.startsWith(SRC) && path.endsWith('.ts'));

/** The files that use the store port and nothing behind it. */
const ABOVE_STORE = new RegExp(
  [
    '^(acquire|base|lease|observe|primitives)/',
    '^store/(deadlines|requests|wake-channel)\\.ts$',
    // these name the clients and stores that a user may give, and locks of other libraries
    '^instance/(?!migrate/|(?:holdfast|holdfast-core|quorum|redis)\\.ts$)',
    '^(?!(?:fence|index|redis|migrate)\\.ts$)[\\w-]+\\.ts$',
  ].join('|'),
);

interface Rule {
  readonly name: string;
  readonly rule: (file: SourceFile) => string[];
  readonly files: readonly SourceFile[];
  /** Samples that break the rule, as path and text. */
  readonly bad: readonly (readonly [path: string, text: string])[];
  /** Similar samples that keep the rule. */
  readonly good: readonly (readonly [path: string, text: string])[];
}

const rules: Rule[] = [
  {
    name: 'a line has at most 100 columns',
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
    name: 'a Lua file has at most 400 lines, a Lua function at most 70',
    rule: longLua,
    files: written.filter(({ path }) => path.endsWith('.lua')),
    bad: [
      ['a.lua', 'x()\n'.repeat(401)],
      ['a.lua', `local function f()\n${'  x()\n'.repeat(69)}end\n`],
    ],
    good: [['a.lua', `local function f()\n${'  x()\n'.repeat(68)}end\n${'x()\n'.repeat(100)}`]],
  },
  {
    name: "no file names a path of a developer's machine",
    rule: machinePaths,
    files,
    // Joined at run time: written out, these paths would break the rule in this file.
    bad: ['home', 'Users', 'root', 'work'].map((folder) => ['a.md', `see /${folder}/me/x`]),
    good: [['a.ts', "const url = 'http://x/home/me'; import '../work/x.js'"]],
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
    files: source.filter(({ path }) => path !== `${SRC}base/clock.ts`),
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
    name: 'only store/clients/ names a client',
    rule: clientNames,
    files: source.filter(({ path }) => !path.startsWith(`${SRC}store/clients/`)),
    bad: ["const a = 'ioredis'", 'isIoredis(client)', 'const a = `a node-redis`'].map((text) => [
      'a.ts',
      text,
    ]),
    good: [['a.ts', "export { fromIoredis } from './clients/ioredis.js' // ioredis"]],
  },
  {
    name: 'no file above the store knows the database behind it',
    rule: databaseNames,
    files: source.filter(({ path }) => ABOVE_STORE.test(path.slice(SRC.length))),
    bad: [
      "if (failure.message.startsWith('LOADING')) retry()",
      'const PASSING = /^(READONLY|BUSY)\\b/;',
      "import { RedisStore } from './a.js'",
      '// the Lua script does the same',
      '/** Valkey answers NOPERM. */',
    ].map((text) => [`${SRC}acquire/a.ts`, text]),
    good: [
      [`${SRC}acquire/a.ts`, '// the store is busy loading; ask it again, evaluate its answer'],
    ],
  },
  {
    name: 'only the file that owns a field writes it',
    rule: foreignWrites,
    files: source,
    bad: [
      [`${SRC}engine/a.ts`, 'resource.used += 1'],
      [`${SRC}engine/a.ts`, "holder['fence'] = 7"],
      [`${SRC}engine/a.ts`, 'resource.fairWaiting--'],
      [`${SRC}engine/a.ts`, 'this.resource.holders.delete(id)'],
      [`${SRC}engine/resource.ts`, 'gate.endsAt = 0'],
      [`${SRC}engine/gate.ts`, 'resource.queue.set(id, 1)'],
      [`${SRC}acquire/a.ts`, "record.state = 'released'"],
      [`${SRC}lease/watchdog.ts`, 'root.storeUntil = 0'],
    ],
    good: [
      [`${SRC}engine/resource.ts`, 'holder.weight = 1; this.holders.delete(id)'],
      [`${SRC}engine/a.ts`, 'this.used += 1; const used = resource.used; resource.holders.get(id)'],
      [`${SRC}lease/root.ts`, "record.state = 'lost'"],
      [`${SRC}acquire/a.ts`, 'record.renewing = true'],
    ],
  },
  {
    name: 'no store gives a lease back',
    rule: foreignReleases,
    files: source,
    bad: [[`${SRC}store/quorum/a.ts`, "store.execute([{ ...command, op: 'release' }])"]],
    good: [
      [`${SRC}store/register/unheard.ts`, "send({ op: 'release' })"],
      [`${SRC}store/quorum/a.ts`, "if (command.op === 'release') send({ op: 'renew' })"],
      [`${SRC}acquire/a.ts`, "send({ op: 'release' })"],
    ],
  },
  {
    name: 'no source writes to the console',
    rule: consoles,
    files: source,
    bad: [['a.ts', 'console.log(1)']],
    good: [['a.ts', '// console\nthis.console(1)']],
  },
  {
    name: 'no test is skipped, and none runs alone',
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
      [`${SRC}store/clients/a.ts`, "import { Retry } from '../../base/retry.js'"],
      [`${SRC}store/memory/a.ts`, "import { b } from '../redis/b.js'"],
      [`${SRC}store/redis/a.ts`, "import { b } from '../../acquire/b.js'"],
      [`${SRC}primitives/a.ts`, "export { b } from '../store/memory/b.js'"],
      [`${SRC}acquire/a.ts`, "type B = import('../store/clients/port.js').ClientPort"],
      [`${SRC}lease/b.ts`, "import { b } from '../store/redis/b.js'"],
      [`${SRC}lease/a.ts`, "await import('../store/clients/b.js')"],
      [`${SRC}instance/holdfast.ts`, "import { b } from '../index.js'"],
      [`${SRC}base/a.ts`, "import type { b } from '../acquire/b.js'"],
      [`${SRC}acquire/a.ts`, "import type { b } from '../primitives/b.js'"],
      [`${SRC}primitives/a.ts`, "import type { b } from '../instance/b.js'"],
    ],
    good: [
      [`${SRC}engine/a.ts`, "import { b } from './b.js'"],
      [`${SRC}store/memory/a.ts`, "import { b } from '../port.js'"],
      [`${SRC}store/redis/a.ts`, "import type { ClientPort } from '../clients/port.js'"],
      [`${SRC}primitives/a.ts`, "import type { Store } from '../store/port.js'"],
    ],
  },
];

for (const { name, rule, files: checked, bad, good } of rules) {
  it(name, () => {
    expect(checked.flatMap(rule)).toEqual([]);
  });

  it(`fires on samples: ${name}`, () => {
    const silent = bad.filter(([path, text]) => rule({ path, text }).length === 0);
    expect(silent).toEqual([]);
    expect(good.flatMap(([path, text]) => rule({ path, text }))).toEqual([]);
  });
}

/** Folders with too many marked words, each with its rate. */
function unplain(texts: readonly SourceFile[]): string[] {
  return [...byFolder(texts)]
    .filter(([, count]) => rate(count) > LIMIT)
    .map(([folder, count]) => `${folder}: ${rate(count).toFixed(1)} marked words in 1,000`);
}

describe('plain English', () => {
  it(`each folder has at most ${LIMIT} marked words in 1,000`, () => {
    const read = new Set(prose(paths));
    const problems = unplain(files.filter(({ path }) => read.has(path)));
    expect(problems, 'node tools/plain-english.mjs --list PATH shows each').toEqual([]);
  });

  it('fires on a folder with marked words, and on no other', () => {
    const plain = '// The store grants the lock to the first waiter.\n'.repeat(20);
    // Joined at run time: written out, these words would count for this file.
    const marked = ['Who', 'ever', ' waits is granted by some', 'body.'].join('');
    expect(unplain([{ path: 'bench/a.ts', text: plain }])).toEqual([]);
    const samples = [
      { path: 'bench/a.ts', text: plain },
      { path: 'docs/a.md', text: `${marked}\n` },
      { path: 'tools/a.mjs', text: `// ${marked}\n` },
      { path: 'examples/a.ts', text: `it('${marked}', f)\n` },
    ];
    expect(unplain(samples)).toEqual([
      'docs: 333.3 marked words in 1,000',
      'tools: 333.3 marked words in 1,000',
      'examples: 333.3 marked words in 1,000',
    ]);
  });
});

describe('the volume of text', () => {
  it(`the pages of docs have at most ${PAGES_LIMIT} bytes`, () => {
    expect(pageBytes(files)).toBeLessThanOrEqual(PAGES_LIMIT);
  });

  it(`the comments of the library have at most ${COMMENTS_LIMIT} words`, () => {
    const library = written.filter(({ path }) => path.startsWith(SRC));
    expect(commentWords(library)).toBeLessThanOrEqual(COMMENTS_LIMIT);
  });

  it('counts pages without decisions, and comments without code', () => {
    const pages = ['docs/a.md', 'docs/b.md', 'docs/decisions/c.md', 'README.md'];
    expect(pageBytes(pages.map((path) => ({ path, text: 'é 1' })))).toBe(8);
    const code = "/** One two. */\nconst three = '// four'; // five\n";
    const lua = "--[[ one: two\nthree ]]\nlocal four = 'five' -- six\n";
    expect(commentWords([{ path: 'a.ts', text: code }])).toBe(3);
    expect(commentWords([{ path: 'a.lua', text: lua }])).toBe(4);
  });
});
