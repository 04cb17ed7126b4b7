/**
 * The type tests (`test/types`) can fail. `npm run build` compiles them, so a wrong line that
 * compiles breaks the build. Here the same compiler with the same settings gets lines that it must
 * complain about.
 */
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../../..', import.meta.url));
const types = join(root, 'packages/holdfast/test/types');
const MARK = '// @ts-expect-error';

/** Lines that compile, each below a comment that claims the opposite. */
const RIGHT = [
  `new Holdfast(memory());`,
  `new Holdfast(new Redis());`,
  `void holdfast.semaphore('k', { permits: 3 }).acquire(2);`,
  `void holdfast.semaphore('k', { permits: 3 }).run(() => 1, { permits: 2 });`,
  `void holdfast.mutex('k').acquire({ ttl: undefined });`,
  `void holdfast.schedule('k', { atLeast: 0, retention: 5, afterFailure: 'release' });`,
  `void holdfast.mutex('k').condition('c');`,
];

/** Lines that do not compile, each without a comment. */
const WRONG = [
  `new Holdfast(new Map());`,
  `void holdfast.semaphore('k', { permits: 3 }).run(() => 1, { count: 2 });`,
  `void holdfast.rwLock('k').write.condition('c');`,
  `void holdfast.schedule('k', { atLeast: 0 }).runOnce(() => 1).then(({ reason }) => reason);`,
];

let folder: string;
/** The lines of the control that the compiler complains about, with the error's number. */
let found: string[];

beforeAll(async () => {
  mkdirSync(join(root, '.cache'), { recursive: true });
  // inside the repository, so that the packages are found
  folder = mkdtempSync(join(root, '.cache/types-control-'));
  const head = [
    `import { Holdfast, memory } from 'holdfast';`,
    `import { Redis } from 'ioredis';`,
    `declare const holdfast: Holdfast;`,
  ];
  const body = [...RIGHT.flatMap((line) => [`${MARK} planted`, line]), ...WRONG];
  writeFileSync(join(folder, 'control.ts'), [...head, ...body, ''].join('\n'));
  const silent = { noEmit: true, composite: false, tsBuildInfoFile: null };
  const paths = { declaration: false, declarationMap: false, rootDir: '.' };
  const compilerOptions = { ...silent, ...paths };
  const include = { include: ['control.ts'], references: [] };
  const config = { extends: join(types, 'tsconfig.json'), compilerOptions, ...include };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const run = promisify(execFile)(process.execPath, [tsc, '-p', folder, '--pretty', 'false']);
  const output = await run.then(
    ({ stdout }) => stdout,
    (error: { stdout: string }) => error.stdout,
  );
  const matches = output.matchAll(/control\.ts\((\d+),\d+\): error (TS\d+)/g);
  found = [...matches].map(([, line, code]) => `${Number(line) - head.length} ${code}`);
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('the compiler reports each planted line that compiles, and no other one', () => {
  const unused = found.filter((one) => one.endsWith('TS2578'));
  expect(unused).toEqual(RIGHT.map((_, index) => `${2 * index + 1} TS2578`));
});

it('the compiler reports each wrong line', () => {
  const lines = found.filter((one) => !one.endsWith('TS2578')).map((one) => Number.parseInt(one));
  expect(lines).toEqual(WRONG.map((_, index) => 2 * RIGHT.length + index + 1));
});

it('the build compiles the type tests, and they claim something', () => {
  const { references } = JSON.parse(readFileSync(join(root, 'tsconfig.json'), 'utf8')) as {
    references: { path: string }[];
  };
  expect(references.map(({ path }) => path)).toContain('packages/holdfast/test/types');
  for (const name of readdirSync(types).filter((file) => file.endsWith('.ts'))) {
    expect(readFileSync(join(types, name), 'utf8').split(MARK).length, name).toBeGreaterThan(5);
  }
});
