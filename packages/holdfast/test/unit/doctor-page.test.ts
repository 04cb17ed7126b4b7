/** `docs/doctor.md` has each code of a finding, with its severities, and no other. */
import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const root = new URL('../../../../', import.meta.url);
const text = (path: string): string => readFileSync(new URL(path, root), 'utf8');

const SOURCES = 'packages/holdfast/src/store/';

/** The codes of the type, in order. */
function codesOf(source: string): string[] {
  const union = /export type FindingCode =([^;]+);/.exec(source)?.[1] ?? '';
  return [...union.matchAll(/'([a-z-]+)'/g)].map(([, code]) => code as string).sort();
}

const rows = (page: string): string[] =>
  [...page.matchAll(/^\| `([a-z-]+)` \| (?:danger|warning|notice)/gm)].map(([, code]) => {
    return code as string;
  });

it('the page has each code once', () => {
  const codes = codesOf(text(`${SOURCES}finding.ts`));
  expect(codes.length).toBeGreaterThan(20);
  expect(rows(text('docs/doctor.md')).sort()).toEqual(codes);
});

it('each code is reported somewhere, and has a test', () => {
  const folder = `${SOURCES}redis/doctor/`;
  const code = readdirSync(new URL(folder, root)).map((file) => text(folder + file));
  code.push(text('packages/holdfast/src/instance/doctor.ts'));
  const suites = 'packages/holdfast/test/server/';
  const tests = readdirSync(new URL(suites, root))
    .filter((file) => file.endsWith('.test.ts'))
    .map((file) => text(suites + file))
    .filter((test) => test.includes('doctor('));
  for (const one of codesOf(text(`${SOURCES}finding.ts`))) {
    expect([one, code.join('').includes(`'${one}'`)]).toEqual([one, true]);
    expect([one, tests.join('').includes(`'${one}'`)]).toEqual([one, true]);
  }
});

it('finds a code without a row, and a row without a code', () => {
  const page = '| `a-b` | danger | x |\n| `c` | notice | x |';
  expect(rows(page)).toEqual(['a-b', 'c']);
  expect(codesOf("export type FindingCode =\n  | 'a-b'\n  | 'd';")).toEqual(['a-b', 'd']);
});
