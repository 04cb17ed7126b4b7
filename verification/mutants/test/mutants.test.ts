/**
 * A part of the catalogue: the simulator finds every mistake that is not rare, and the unchanged
 * library passes the same seeds. It runs the compiled code; `npm run mutants` runs all mutants.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { MUTANTS } from '../src/catalogue/all.js';
import { BEYOND, TORTURED } from '../src/catalogue/torture.js';
import { hunt } from '../src/hunt.js';
import { SCRIPTS, withMutant } from '../src/plant.js';

const SEEDS = { from: 1, seeds: 60, limit: 120_000 };

describe('the simulator finds', () => {
  it.each(MUTANTS.filter(({ rare, elsewhere }) => rare === undefined && elsewhere === undefined))(
    '$name',
    async (mutant) => {
      const { by, text } = await hunt(mutant, SEEDS);
      expect(by).toBeTypeOf('string');
      // the mutant must run: a crash at start is no finding
      expect(by, text).not.toBe('crashes');
    },
  );

  it('nothing in the unchanged library', async () => {
    const { by, text, seeds } = await hunt(undefined, SEEDS);
    expect(by, text).toBeUndefined();
    expect(seeds).toBe(SEEDS.seeds);
  });
});

it('every mutant fits the library, and the names are different', async () => {
  for (const mutant of MUTANTS) await withMutant(mutant, () => Promise.resolve());
  expect(new Set(MUTANTS.map(({ name }) => name)).size).toBe(MUTANTS.length);
  expect(MUTANTS.length).toBeGreaterThanOrEqual(15);
});

it('every mutant of the torture test fits, and changes the scripts that it names', async () => {
  const texts = (folder: string): Promise<string> =>
    Promise.resolve(readFileSync(join(folder, SCRIPTS), 'utf8'));
  const before = await withMutant(undefined, texts);
  for (const mutant of TORTURED) {
    const after = await withMutant(mutant, texts);
    const meant = mutant.edits.some(({ file }) => file === SCRIPTS);
    expect(after !== before, mutant.name).toBe(meant);
  }
  const all = [...TORTURED.map(({ name }) => name), ...Object.keys(BEYOND)];
  expect(all.sort()).toEqual(MUTANTS.map(({ name }) => name).sort());
});

it('rejects a mutant whose text to replace is missing', async () => {
  const edits = [{ file: 'index.js', find: 'no such text', replace: '' }];
  const mutant = { name: 'none', mistake: '', edits };
  const planted = withMutant(mutant, () => Promise.resolve());
  await expect(planted).rejects.toThrow('the mutant "none" fits the library no more');
});
