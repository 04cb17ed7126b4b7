/**
 * A part of the catalogue: the simulator finds every mistake that is not rare. It runs the compiled
 * code; `npm run mutants` runs all mutants. The unchanged library passes the same seeds of one
 * server in `sim.test.ts`; here it runs the known seeds beyond them, and a few, so that the search
 * itself is known to end without a finding.
 */
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { MUTANTS } from '../src/catalogue/all.js';
import { PACKAGES } from '../src/catalogue/packages.js';
import { BEYOND, TORTURED } from '../src/catalogue/torture.js';
import { type Catch, hunt } from '../src/hunt.js';
import { isClean, isFinding, namedBy, testsOf } from '../src/in-tests.js';
import type { Mutant, World } from '../src/mutant.js';
import { mutatedFiles, SCRIPTS } from '../src/plant.js';

const SEEDS = { from: 1, seeds: 60, limit: 120_000 };

const controls = new Map<string, Promise<Catch>>();

/** What a seed finds in the unchanged library. Mutants with the same seed share this run. */
function asItIs(world: World, from: number): Promise<Catch> {
  const name = `${world} ${from}`;
  const result = controls.get(name) ?? hunt(undefined, { ...SEEDS, from, seeds: 1, world });
  controls.set(name, result);
  return result;
}

/** A mutant whose file throws before it defines a class. */
function unloadable(file: string, name: string): Mutant {
  const find = `export class ${name} `;
  const edits = [{ file, find, replace: `throw new Error('not loaded'); ${find}` }];
  return { name: 'none', mistake: '', edits };
}

describe('the simulator finds', () => {
  it.each(MUTANTS.filter(({ rare, elsewhere }) => rare === undefined && elsewhere === undefined))(
    '$name',
    async (mutant) => {
      const { by, text, seed } = await hunt(mutant, SEEDS);
      expect(by).toBeTypeOf('string');
      // the mutant must run: a crash at start is no finding
      expect(by, text).not.toBe('crashes');
      const { world = 'server' } = mutant;
      // `sim.test.ts` runs the same seeds of one server
      const isRun = world === 'server' && seed < SEEDS.from + SEEDS.seeds;
      if (seed !== mutant.seed || isRun) return;
      const control = await asItIs(world, seed);
      expect(control.by, control.text).toBeUndefined();
    },
  );

  it('a library that cannot be loaded', async () => {
    const few = { ...SEEDS, seeds: 1 };
    expect((await hunt(unloadable('engine/engine.js', 'Engine'), few)).by).toBe('crashes');
  });

  it('a run that does not end', async () => {
    const find = 'apply(command, now) {';
    const edits = [{ file: 'engine/engine.js', find, replace: `${find} for (;;);` }];
    const few = { ...SEEDS, seeds: 1, limit: 2000 };
    expect((await hunt({ name: 'none', mistake: '', edits }, few)).by).toBe('hangs');
  });

  it('nothing in the unchanged library', async () => {
    const few = { ...SEEDS, seeds: 2 };
    const { by, text, seeds } = await hunt(undefined, few);
    expect(by, text).toBeUndefined();
    expect(seeds).toBe(few.seeds);
  });
});

describe('a test finds', () => {
  const named = namedBy('unit/fast-process.test.ts: does not overtake a fair waiter');
  const planted = (replace: string): Mutant => {
    const edits = [{ file: 'acquire/root-queue.js', find: ' * (1 - DRIFT)', replace }];
    return { name: 'none', mistake: '', edits };
  };

  it('a mistake, and nothing in the unchanged library', async () => {
    const { failed } = await testsOf(planted(''), named);
    expect(failed).toEqual([
      'a task that waits in its process does not overtake a fair waiter that came first',
    ]);
    expect(isClean(await testsOf(undefined, named))).toBe(true);
  });

  it('no mistake that cannot be loaded', async () => {
    const tested = await testsOf(unloadable('acquire/root-queue.js', 'RootQueue'), named);
    expect([isFinding(tested), isClean(tested)]).toEqual([false, false]);
  });

  it('nothing if no test has run', () => {
    const none = { failed: [], passed: 0, error: undefined };
    expect([isFinding(none), isClean(none)]).toEqual([false, false]);
    expect([isFinding({ ...none, passed: 1 }), isClean({ ...none, passed: 1 })]).toEqual([
      false,
      true,
    ]);
  });
});

it('each mutant that the simulator does not find names one test file', () => {
  const packages = fileURLToPath(new URL('../../../packages', import.meta.url));
  const files = readdirSync(packages, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.test.ts') && !path.includes('node_modules'))
    .map((path) => `packages/${path}`);
  for (const { elsewhere } of MUTANTS) {
    if (elsewhere === undefined) continue;
    const { file } = namedBy(elsewhere);
    expect(
      files.filter((path) => path.endsWith(`/${file}`)),
      file,
    ).toHaveLength(1);
  }
  expect(() => namedBy('the tests of roots')).toThrow('names no test file');
});

it('every mutant fits the library, and the names are different', async () => {
  const unchanged = await mutatedFiles(undefined);
  for (const mutant of MUTANTS) expect(await mutatedFiles(mutant)).not.toEqual(unchanged);
  expect(new Set(MUTANTS.map(({ name }) => name)).size).toBe(MUTANTS.length);
  expect(MUTANTS.length).toBeGreaterThanOrEqual(15);
});

it('every mutant of the torture test fits, and changes the scripts that it names', async () => {
  const before = (await mutatedFiles(undefined)).get(SCRIPTS);
  expect(before).toBeTypeOf('string');
  for (const mutant of TORTURED) {
    const after = (await mutatedFiles(mutant)).get(SCRIPTS);
    const meant = mutant.edits.some(({ file }) => file === SCRIPTS);
    expect(after !== before, mutant.name).toBe(meant);
  }
  const all = [...TORTURED.map(({ name }) => name), ...Object.keys(BEYOND)];
  expect(all.sort()).toEqual(MUTANTS.map(({ name }) => name).sort());
});

it.each(Object.entries(PACKAGES))('every mutant of %s fits', async (_, mutants) => {
  const unchanged = await mutatedFiles(undefined);
  expect(mutants.length).toBeGreaterThanOrEqual(2);
  for (const mutant of mutants) expect(await mutatedFiles(mutant)).not.toEqual(unchanged);
});

it('rejects a mutant whose text to replace is missing', async () => {
  const edits = [{ file: 'index.js', find: 'no such text', replace: '' }];
  const mutant = { name: 'none', mistake: '', edits };
  await expect(mutatedFiles(mutant)).rejects.toThrow('the mutant "none" fits the library no more');
});

it('rejects a mutant that is no program', async () => {
  const file = 'store/quorum/quorum-store.js';
  const edits = [{ file, find: 'return withValidity(', replace: 'return return withValidity(' }];
  const mutant = { name: 'none', mistake: '', edits };
  await expect(mutatedFiles(mutant)).rejects.toThrow('the mutant "none" is no program');
});
