/** The table of guarantees and instruments: each cell names checks that exist, or says why none. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { MUTANTS } from '../src/catalogue/all.js';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const files = (folder: string): string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' });

/** What a pattern captures in the sources of a folder. */
function captured(folder: string, pattern: RegExp): ReadonlySet<string> {
  const sources = files(folder).filter((file) => file.endsWith('.ts'));
  const texts = sources.map((file) => read(join(folder, file)));
  return new Set(texts.flatMap((text) => [...text.matchAll(pattern)].map(([, one = '']) => one)));
}

const CHECK = /export const ([a-z]+): Check\b/g;
const TESTS = new Set(files('packages/holdfast/test'));

/** By column: what a cell may name. */
const KNOWN: Readonly<Record<string, ReadonlySet<string>>> = {
  unit: TESTS,
  differential: TESTS,
  simulator: captured('verification/sim/src', /report\(\s*'([a-z]+)'/g),
  model: new Set(files('verification/formal')),
  torture: captured('verification/checker/src/checks', CHECK),
  trials: captured('verification/trials/src', /(?:name: |trialOn\(\s*)'([a-z-]+)'/g),
  mutant: new Set(MUTANTS.map(({ name }) => name)),
};

/** What is wrong with the table of a page. */
function problems(page: string): string[] {
  const lines = page.split('\n').filter((line) => line.startsWith('| '));
  const [head = [], , ...rows] = lines.map((line) => line.slice(2, -2).split(' | '));
  return rows.flatMap(([guarantee = '', ...cells]) =>
    head.slice(1).flatMap((column, at) => {
      const cell = cells[at]?.trim() ?? '';
      if (/^none: \S/.test(cell)) return [];
      const names = [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);
      const wrong = names.filter((name) => KNOWN[column]?.has(name) !== true);
      if (names.length === 0) wrong.push('nothing');
      return wrong.map((name) => `${guarantee}: ${column} names ${name}`);
    }),
  );
}

it('each cell names checks that exist, or says why there is none', () => {
  const page = read('verification/guarantees.md');
  expect(problems(page)).toEqual([]);
  for (const number of [1, 2, 3, 4, 5, 6, 7, 8, 9]) expect(page).toContain(`\n| I${number}: `);
});

it('control: finds an empty cell, and names that do not exist', () => {
  const page = `| guarantee | unit | simulator | mutant |\n| --- | --- | --- | --- |
| a | \`unit/none.test.ts\` | \`nonsense\` | \`no mutant\` |\n| b |  | \`ghost\` | none: |\n`;
  expect(problems(page)).toEqual([
    ...['a: unit names unit/none.test.ts', 'a: simulator names nonsense'],
    ...['a: mutant names no mutant', 'b: unit names nothing', 'b: mutant names nothing'],
  ]);
});
