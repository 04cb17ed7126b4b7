/**
 * The recipes of CONTRIBUTING.md name every place: each path exists, and each primitive, command
 * and store of today is in each place that its recipe names.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { type Primitive, type Registration, REGISTRATIONS } from '../support/registrations.js';

const root = fileURLToPath(new URL('../../../..', import.meta.url));
const PACKAGE = 'packages/holdfast/';
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const page = read('CONTRIBUTING.md');

interface Place {
  readonly path: string;
  readonly what: string;
}

/** From the root of the repository. */
const complete = (path: string): string =>
  /^(src|test|etc)\//.test(path) ? `${PACKAGE}${path}` : path;

/** The table of a recipe. */
function placesOf(text: string, title: string): Place[] {
  const section = text.split(`\n### … ${title}`)[1]?.split('\n### ')[0] ?? '';
  return [...section.matchAll(/^\| `([^`]+)` \| (.*) \|$/gm)].map(([, path = '', what = '']) => ({
    path: complete(path),
    what,
  }));
}

/** The paths in a text, also outside tables; NAME stands for many. */
function pathsIn(text: string): string[] {
  const all = [...text.matchAll(/`((?:src|test|etc|docs|verification|packages)\/[^`]*)`/g)];
  return all.map(([, path = '']) => complete(path)).filter((path) => !path.includes('NAME'));
}

/** A text without the characters in which names differ by language. */
const plain = (text: string): string => text.replace(/[-\s]/g, '').toLowerCase();

/** The places that lack a primitive. `look` gives the text of a file, or nothing. */
function lacking(
  places: readonly Place[],
  { name }: Registration,
  primitive: Primitive,
  look: (path: string) => string | undefined,
): string[] {
  const { file, page: own, sim, torture, maker } = primitive;
  return places
    .filter(({ path, what }) => {
      if (path.includes('/primitives/NAME')) return look(path.replace('NAME', file)) === undefined;
      if (path === 'docs/NAME.md') return look(own) === undefined;
      if (path.includes('NAME')) return look(path.replace('NAME', name)) === undefined;
      const at = path.endsWith('instance/holdfast.ts') ? (maker ?? 'instance/holdfast.ts') : '';
      const text = look(at === '' ? path : `${PACKAGE}src/${at}`);
      if (text === undefined) return true;
      if (path.endsWith('plan/plan.ts')) return sim !== undefined && !text.includes(`'${sim}'`);
      if (path.endsWith('steps/all.ts')) {
        return torture !== undefined && !text.includes(`, ${torture}]`);
      }
      return !what.includes(' if ') && !plain(text).includes(plain(file));
    })
    .map(({ path }) => `${file}: ${path}`);
}

const look = (path: string): string | undefined =>
  existsSync(join(root, path)) ? read(path) : undefined;

describe('the recipe for a primitive', () => {
  const places = placesOf(page, 'a primitive');
  const all = (text: (path: string) => string | undefined): string[] =>
    REGISTRATIONS.flatMap((one) =>
      one.primitives.flatMap((primitive) => lacking(places, one, primitive, text)),
    );

  it('names places that each primitive is in', () => {
    expect(places.length).toBeGreaterThan(12);
    expect(all(look)).toEqual([]);
  });

  it('is held by the table of registrations: each class is in it', () => {
    const holdfast = read(`${PACKAGE}src/instance/holdfast.ts`);
    const made = [...holdfast.matchAll(/^ {4}return new (\w+)\(this\.core/gm)].map(
      ([, name = '']) => name,
    );
    const known = REGISTRATIONS.flatMap(({ primitives }) => primitives.map(({ file }) => file));
    const registered = new Set(known.map(plain));
    expect(made.length).toBeGreaterThan(8);
    expect(made.filter((name) => !registered.has(name.toLowerCase()))).toEqual([]);
  });

  it('control: notices a primitive that is missing in a place', () => {
    for (const { path, what } of places) {
      const conditional = what.includes(' if ') && !/plan\.ts|all\.ts/.test(path);
      if (path.includes('NAME') || conditional) continue;
      const without = all((one) => (one === path ? '' : look(one)));
      expect(without.some((text) => text.endsWith(path))).toBe(true);
    }
    expect(all((path) => (path.endsWith('latch.ts') ? undefined : look(path)))).toEqual([
      `latch: ${PACKAGE}src/primitives/NAME.ts`,
    ]);
  });
});

describe('the recipe for a command', () => {
  const places = placesOf(page, 'a command');
  const gates = ['arrive', 'endGeneration', 'watch'];
  const scripts = readdirSync(join(root, PACKAGE, 'src/store/redis/scripts'));
  const commands = scripts
    .filter((file) => file.endsWith('.lua'))
    .map((file) => file.replace('.lua', ''))
    .filter((name) => !name.endsWith('Many') && !gates.includes(name));
  const missing = (names: readonly string[]): string[] =>
    names.flatMap((name) =>
      places
        .filter(({ path, what }) => {
          const text = look(path.replace('NAME', name)) ?? '';
          const searched = path.endsWith('/faults.ts') ? `${text}${faults()}` : text;
          return !what.includes(' if ') && !new RegExp(`\\b${name}\\b`).test(searched);
        })
        .map(({ path }) => `${name}: ${path}`),
    );
  const faults = (): string => {
    const folder = `${PACKAGE}test/support`;
    const files = readdirSync(join(root, folder)).filter((file) => file.startsWith('faults-'));
    return files.map((file) => read(`${folder}/${file}`)).join('');
  };

  it('names places that each command is in, at most 15', () => {
    expect(commands.length).toBeGreaterThan(10);
    expect(places.length).toBeGreaterThan(10);
    expect(places.length).toBeLessThanOrEqual(15);
    expect(missing(commands)).toEqual([]);
  });

  it('control: notices a command that is in none of them', () => {
    const needed = places.filter(({ what }) => !what.includes(' if '));
    expect(missing(['freeze'])).toHaveLength(needed.length);
  });
});

describe('the recipe for a store', () => {
  // the register is the port of other packages
  it('names places that each store is in', () => {
    const places = placesOf(page, 'a store');
    expect(places.length).toBeGreaterThan(5);
    const missing = ['memory', 'redis', 'quorum'].flatMap((name) =>
      places
        .map(({ path }) => path.replace('NAME', name))
        .filter((path) => !path.includes('.suites.'))
        .filter((path) => !existsSync(join(root, path)) || !mentions(path, name)),
    );
    expect(missing).toEqual([]);
  });

  const mentions = (path: string, name: string): boolean =>
    path.endsWith('/') || plain(read(path)).includes(name);
});

it('each path of the recipes exists', () => {
  const paths = pathsIn(page.split('## How to add')[1] ?? '');
  const gone = paths.filter((path) => !existsSync(join(root, path)));
  expect(paths.length).toBeGreaterThan(30);
  expect(gone).toEqual([]);
});

it('control: notices a path that does not exist', () => {
  expect(pathsIn('`src/engine/none.ts` and `docs/NAME.md`')).toEqual([
    `${PACKAGE}src/engine/none.ts`,
  ]);
});

/** The required members of an interface in a source, and the methods of them. */
function required(source: string, name: string): { members: number; methods: number } {
  const body = source.split(`export interface ${name}`)[1]?.split('\n}\n')[0] ?? '';
  const all = [...body.matchAll(/^ {2}(?:readonly )?(\w+)(\??)([(:])/gm)];
  const members = all.filter(([, , optional]) => optional === '');
  return {
    members: members.length,
    methods: members.filter(([, , , sign]) => sign === '(').length,
  };
}

describe('a port requires little', () => {
  const store = read(`${PACKAGE}src/store/port.ts`);
  const client = read(`${PACKAGE}src/store/clients/port.ts`);
  const optional = [
    ...['StoreTells', 'StoreOffers'].map((name) => [name, store]),
    ...['ClusterPart', 'SentinelPart', 'SilencePart', 'ConnectionPart'].map((name) => [
      name,
      client,
    ]),
  ] as [string, string][];

  it('a store has a name and three methods', () => {
    expect(required(store, 'Store ')).toEqual({ members: 4, methods: 3 });
  });

  it('a client has four properties and seven methods', () => {
    expect(required(client, 'ClientPort ')).toEqual({ members: 11, methods: 7 });
  });

  it.each(optional)('%s is optional', (name, source) => {
    expect(source).toContain(`export interface ${name} {`);
    expect(required(source, `${name} `)).toEqual({ members: 0, methods: 0 });
  });

  it('control: counts a required method more', () => {
    const more = store.replace('  trouble?(): ', '  trouble(): ');
    expect(required(more, 'StoreTells ')).toEqual({ members: 1, methods: 1 });
  });
});
