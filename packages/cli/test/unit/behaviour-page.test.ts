/** `verification/behaviour.md`: its tests exist, and it has each line of `docs/cli.md`. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const docs = new URL('../../../../docs/', import.meta.url);
const text = (path: string): string => readFileSync(new URL(path, docs), 'utf8');

interface Row {
  readonly what: string;
  readonly tests: readonly { readonly file: string; readonly title: string }[];
}

/** The rows of the tables of a page. */
function rowsOf(page: string): Row[] {
  const lines = page.split('\n').filter((line) => /^\| (?!---|what |situation )/u.test(line));
  return lines.map((line) => {
    const [, what = '', tests = ''] = /^\| (.*?) \| (.*) \|$/u.exec(line) ?? [];
    const files = tests.split('<br>').map((part) => ({
      file: /\]\(([^)]+)\)/u.exec(part)?.[1] ?? '',
      titles: [...part.matchAll(/"([^"]+)"/gu)].map(([, title]) => title as string),
    }));
    return {
      what,
      tests: files.flatMap(({ file, titles }) => titles.map((title) => ({ file, title }))),
    };
  });
}

/** Tests of a page that do not exist, and lines without a test. */
function problems(rows: readonly Row[], read: (file: string) => string): string[] {
  return rows.flatMap(({ what, tests }) => {
    if (tests.length === 0) return [`no test: ${what}`];
    const isThere = ({ file, title }: Row['tests'][number]): boolean =>
      ["'", '`'].some((quote) => read(file).includes(`${quote}${title}${quote}`));
    return tests.filter((one) => !isThere(one)).map(({ file, title }) => `${file}: ${title}`);
  });
}

it('names tests that exist', () => {
  const rows = rowsOf(text('../verification/behaviour.md'));
  expect(rows.length).toBeGreaterThan(60);
  expect(problems(rows, text)).toEqual([]);
});

it('has each line of the command line', () => {
  const page = rowsOf(text('../verification/behaviour.md')).map(({ what }) => what);
  const [, table = ''] = text('cli.md').split('## Behaviour\n');
  const [own = ''] = table.split('\n## ', 1);
  const situations = rowsOf(own).map(({ what }) => what);
  expect(situations.length).toBeGreaterThan(30);
  expect(situations.filter((one) => !page.includes(one))).toEqual([]);
});

it('finds a test that does not exist, and a line without one', () => {
  const page = '| a | [f](../f): "is", "is not"<br>[g](../g): "is" |\n| b | none |\n';
  const files: Record<string, string> = { '../f': "it('is')", '../g': 'it("is")' };
  expect(problems(rowsOf(page), (file) => files[file] ?? '')).toEqual([
    '../f: is not',
    '../g: is',
    'no test: b',
  ]);
});
