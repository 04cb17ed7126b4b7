/** How much of the library a bundled program carries. It bundles `dist`, so build first. */
import { readFileSync } from 'node:fs';
import { BUNDLES, type BundleSize, bundleSize, sizeProblems } from 'holdfast-testkit';
import { beforeAll, describe, expect, it } from 'vitest';

const sizes = {} as Record<keyof typeof BUNDLES, BundleSize>;
const NAMES = Object.keys(BUNDLES) as (keyof typeof BUNDLES)[];

/** The bundled modules of the library, by their paths in `dist`. */
function modulesOf({ modules }: BundleSize): string[] {
  return modules.map((path) => path.replace(/^.*\/packages\/holdfast\/dist\//, ''));
}

beforeAll(async () => {
  for (const name of NAMES) sizes[name] = await bundleSize(BUNDLES[name].program);
});

describe.each(NAMES)('the bundle %s', (name) => {
  it('is within its limit, and the limit has at most 5 % head-room', () => {
    expect(sizeProblems(sizes[name], BUNDLES[name].limit)).toEqual([]);
  });

  it('carries no assertions, and nothing outside the library', () => {
    const modules = modulesOf(sizes[name]);
    expect(modules).toContain('acquire/core.js');
    expect(modules.filter((path) => path.startsWith('/') || /assertions/.test(path))).toEqual([]);
  });
});

/** The figures of the README, in KB, which differ by more than 3 % from these sizes. */
function wrongFigures(page: string, { mutex, whole }: Record<'mutex' | 'whole', number>): string[] {
  const text = /carries (\d+) KB after compression; `Holdfast` carries (\d+) KB/.exec(page);
  return [mutex, whole].flatMap((size, at) => {
    const figure = Number(text?.[at + 1]);
    const measured = size / 1024;
    const isRight = Math.abs(figure / measured - 1) <= 0.03;
    return isRight ? [] : [`${figure} KB, measured are ${measured.toFixed(1)}`];
  });
}

it('the README has the measured sizes, to 3 %', () => {
  const page = readFileSync(new URL('../../../../README.md', import.meta.url), 'utf8');
  const [mutex, whole] = [sizes.mutex.compressed, sizes.whole.compressed];
  expect(wrongFigures(page, { mutex, whole })).toEqual([]);
  // a control
  expect(wrongFigures(page, { mutex: 1.05 * mutex, whole: 0.9 * whole })).toHaveLength(2);
  expect(wrongFigures('', { mutex, whole })).toHaveLength(2);
});

it.each(['whole', 'redis'] as const)(
  'the bundle %s loads the stores and the clients later',
  (name) => {
    const engine = /^engine\/(engine|resource|gate|serve)\.js$/;
    const stores = /^store\/(memory|redis|register|quorum|clients)\//;
    const early = new Set(['shape', 'state', 'common'].map((name) => `store/clients/${name}.js`));
    const late = (path: string): boolean =>
      [engine, stores].some((one) => one.test(path)) && !early.has(path);
    const found = modulesOf(sizes[name]).filter(late);
    expect(found).toEqual([]);
  },
);

it('a program with a mutex in memory carries no scripts, clients or other primitives', () => {
  const others = /^store\/(redis|clients)\/|^primitives\/(?!plain-mutex|acquirer|lock-)/;
  const helpers = new Set(['primitives/shared-runs.js', 'primitives/inspection.js']);
  const found = modulesOf(sizes.mutex).filter((path) => others.test(path) && !helpers.has(path));
  expect(found).toEqual([]);
});

describe('the check detects', () => {
  it.each([
    ['whole', "export { memory } from 'holdfast';"],
    ['mutex', "export { redis } from 'holdfast/redis';"],
  ] as const)('another module in the bundle %s', async (name, more) => {
    const { program, limit } = BUNDLES[name];
    const problems = sizeProblems(await bundleSize(`${program}\n${more}`), limit);
    expect(problems.join()).toMatch(/compressed: \d+ bytes, the limit is \d+/);
  });

  it.each([
    'store/quorum/quorum-store.js',
    'store/redis/redis-store.js',
    'store/clients/ioredis.js',
  ])('%s, if it is not loaded later', async (module) => {
    const path = new URL(`../../dist/${module}`, import.meta.url).pathname;
    const eager = await bundleSize(`${BUNDLES.whole.program}\nexport * from '${path}';`);
    expect(modulesOf(eager)).toContain(module);
  });

  it('a limit with too much head-room', () => {
    const complete = { minified: 1000, compressed: 100 };
    const size = { ...complete, complete, modules: [] };
    expect(sizeProblems(size, { minified: 1050, compressed: 105 })).toEqual([]);
    expect(sizeProblems(size, { minified: 1051 })).toEqual([
      'minified: 1000 bytes, so lower the limit of 1051 to at most 1050',
    ]);
    expect(sizeProblems(size, { compressed: 99 })).toHaveLength(1);
  });
});
