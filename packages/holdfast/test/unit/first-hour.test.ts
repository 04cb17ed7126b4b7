/** The table of verification/first-hour.md, and the pages that it names. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const url = (path: string): URL => new URL(`../../../../${path}`, import.meta.url);
const read = (path: string): string => readFileSync(url(path), 'utf8');
const page = read('verification/first-hour.md');

/** The anchor of a heading. */
const anchor = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\w\- ]/g, '')
    .replaceAll(' ', '-');

/** What is wrong with the links of a table; a link to code has the title of a test as its text. */
function problems(text: string): string[] {
  const found: string[] = [];
  for (const row of text.split('\n').filter((line) => line.startsWith('| '))) {
    const [point = '', shown = ''] = row.slice(2).split(' | ');
    if (/^(point|---)/.test(point)) continue;
    if (!shown.includes('](')) found.push(`without a link: ${point}`);
    for (const [, title = '', target = ''] of shown.matchAll(/\[(.+?)\]\(([^)]+)\)/g)) {
      const [path = '', section] = target.split('#');
      const file = path.startsWith('../') ? path.slice(3) : `verification/${path}`;
      const there = existsSync(url(file)) ? read(file) : undefined;
      if (there === undefined) found.push(`no file ${file}`);
      else if (file.endsWith('.ts')) {
        if (!there.includes(title)) found.push(`not in ${file}: ${title}`);
      } else if (section !== undefined) {
        const headings = [...there.matchAll(/^#+ (.*)$/gm)].map(([, one = '']) => anchor(one));
        if (!headings.includes(section)) found.push(`no section ${section} in ${file}`);
      }
    }
  }
  return found;
}

it('each point has a test with the named title, or a section of a page', () => {
  expect(problems(page)).toEqual([]);
  expect(page.split('\n').filter((line) => line.startsWith('| ')).length).toBeGreaterThan(60);
});

it('finds a row without a link, a missing file, title and section', () => {
  const here = '../packages/holdfast/test/unit/first-hour.test.ts';
  const wrong = ['no', 'such', 'title'].join(' ');
  const rows = [
    '| a | nothing |',
    `| b | [${wrong}](${here}) |`,
    '| c | [x](missing.md) |',
    '| d | [x](../docs/fences.md#nowhere) |',
    `| e | [a row without a link](${here}); [x](../docs/fences.md#object-stores) |`,
  ];
  expect(problems(rows.join('\n'))).toEqual([
    'without a link: a',
    `not in packages/holdfast/test/unit/first-hour.test.ts: ${wrong}`,
    'no file verification/missing.md',
    'no section nowhere in docs/fences.md',
  ]);
});

it('the first page has the install line and the requirements', () => {
  const manifest = JSON.parse(read('packages/holdfast/package.json')) as {
    engines: { node: string };
    peerDependencies: Record<string, string>;
  };
  const install =
    read('README.md')
      .split('\n## ')
      .find((part) => part.startsWith('Install')) ?? '';
  expect(install).toContain('npm install holdfast');
  for (const client of Object.keys(manifest.peerDependencies)) expect(install).toContain(client);
  expect(install).toContain(`Node ${manifest.engines.node.replace('>=', '')} or newer`);
  expect(install).toMatch(/Redis 7\.0 or newer,\s+or Valkey/);
  expect(install).toContain("on('error'");
  expect(install).toContain('await client.connect()');
});

it('the page for operators names options, warnings and methods that exist', () => {
  const operators = read('docs/operations.md');
  const api = read('packages/holdfast/etc/holdfast.api.md');
  const options = [...operators.matchAll(/^\| `(\w+)` \| /gm)].map(([, name = '']) => name);
  const own = options.filter((name) => /^[a-z]/.test(name));
  expect(own).toEqual(expect.arrayContaining(['ttl', 'wait', 'fair', 'claimWindow', 'maxHold']));
  for (const name of own) expect(api, name).toMatch(new RegExp(`\\b${name}\\?:`));
  const codes = operators.match(/^\| `HOLDFAST_\w+` \| /gm) ?? [];
  const union = /export type HoldfastWarningCode =([^;]*);/.exec(api)?.[1] ?? '';
  const known = [...union.matchAll(/'(\w+)'/g)].map(([, code]) => code);
  expect(known.length).toBeGreaterThan(8);
  expect(new Set(codes.map((row) => row.split('`')[1]))).toEqual(new Set(known));
  for (const [, method = ''] of operators.matchAll(/await holdfast\.(\w+)\(/g)) {
    expect(api, method).toMatch(new RegExp(`\\b${method}\\(`));
  }
});

it('each import in the code of a page exists', () => {
  const exported = new Map<string, string>();
  for (const file of readdirSync(url('packages/holdfast/etc'))) {
    exported.set(file.replace('.api.md', ''), read(`packages/holdfast/etc/${file}`));
  }
  const pages = readdirSync(url('docs')).filter((file) => file.endsWith('.md'));
  let count = 0;
  for (const file of ['README.md', ...pages.map((name) => `docs/${name}`)]) {
    const imports = read(file).matchAll(
      /import (?:type )?\{([^}]+)\} from '(holdfast(?:\/\w+)?)'/g,
    );
    for (const [, names = '', module = ''] of imports) {
      const api = exported.get(module.replace('holdfast/', '')) ?? '';
      for (const name of names.split(',').map((one) => one.replace('type ', '').trim())) {
        count += 1;
        expect(api, `${name} of ${module}, in ${file}`).toMatch(
          new RegExp(`export .*\\b${name}\\b|^ +${name},?$`, 'm'),
        );
      }
    }
  }
  expect(count).toBeGreaterThan(20);
});
