/** Makes a copy of the compiled library with a mistake in it. */
import {
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseSync } from 'oxc-parser';
import type { Edit, Mutant } from './mutant.js';

const ROOT: string = fileURLToPath(new URL('../../..', import.meta.url));
const DIST: string = join(ROOT, 'packages/holdfast/dist');
/** The packages for other stores, by their folders, and the clients that they load. */
const STORES = ['postgres', 'sqlite', 'etcd'];
const CLIENTS = ['pg', 'postgres', 'better-sqlite3'];

const TOOLS: string = new URL('../../../tools/generate-lua.mjs', import.meta.url).href;
const SOURCES: string = fileURLToPath(
  new URL('../../../packages/holdfast/src/store/redis/scripts', import.meta.url),
);

const GENERATED = 'store/redis/generated';
/** Path below `dist` of the script texts. */
export const SCRIPTS: string = `${GENERATED}/script-texts.js`;

/** Calls a function with the folder of a mutated copy, and then deletes the folder. */
export async function withMutant<Result>(
  mutant: Mutant | undefined,
  work: (folder: string) => Promise<Result>,
): Promise<Result> {
  const texts = await mutatedFiles(mutant);
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-mutant-'));
  try {
    const modules = join(folder, 'node_modules');
    const dist = copied('holdfast', join(modules, 'holdfast'));
    for (const name of STORES) copied(name, join(modules, `holdfast-${name}`));
    for (const name of CLIENTS) {
      symlinkSync(join(ROOT, 'node_modules', name), join(modules, name));
    }
    for (const [file, text] of texts) writeFileSync(join(dist, file), text);
    return await work(dist);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Calls a function with a folder of links to the compiled library, and then deletes the folder.
 * Only the edited files are files. Takes a third of the time of a copy. A process that loads this
 * library has the option `--preserve-symlinks`: otherwise Node follows the links to the unchanged
 * files.
 */
export async function withLinks<Result>(
  mutant: Mutant | undefined,
  work: (folder: string) => Promise<Result>,
): Promise<Result> {
  const texts = await mutatedFiles(mutant);
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-mutant-'));
  try {
    copyFileSync(join(DIST, '../package.json'), join(folder, 'package.json'));
    const dist = join(folder, 'dist');
    const written = linked(DIST, dist, texts);
    if (written !== texts.size) throw new Error(`"${mutant?.name}" edits another package`);
    return await work(dist);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Fills a folder with links and with these texts. Returns how many texts it has written. */
function linked(from: string, to: string, texts: ReadonlyMap<string, string>): number {
  mkdirSync(to);
  let written = 0;
  for (const name of readdirSync(from)) {
    const text = texts.get(name);
    const below = [...texts].flatMap(([path, one]): [string, string][] =>
      path.startsWith(`${name}/`) ? [[path.slice(name.length + 1), one]] : [],
    );
    if (below.length > 0) written += linked(join(from, name), join(to, name), new Map(below));
    else if (text === undefined) symlinkSync(join(from, name), join(to, name));
    else {
      writeFileSync(join(to, name), text);
      written += 1;
    }
  }
  return written;
}

/** Copies a compiled package, and returns its folder `dist`. */
function copied(name: string, to: string): string {
  const from = join(ROOT, 'packages', name);
  mkdirSync(to, { recursive: true });
  copyFileSync(join(from, 'package.json'), join(to, 'package.json'));
  cpSync(join(from, 'dist'), join(to, 'dist'), { recursive: true, filter: isNeeded });
  return join(to, 'dist');
}

/** The path of an edited file below `dist` of the library, in this repository and in a copy. */
function pathsOf({ file, of }: Edit): { readonly source: string; readonly target: string } {
  if (of === undefined) return { source: join(DIST, file), target: file };
  const target = `../../holdfast-${of}/dist/${file}`;
  return { source: join(ROOT, 'packages', of, 'dist', file), target };
}

/** The folders, and the modules in them: neither types nor source maps run. */
const isNeeded = (path: string): boolean => path.endsWith('.js') || extname(path) === '';

/**
 * The texts of the files that a mutated copy does not share with the compiled library, by their
 * paths below `dist`.
 * @throws Error if an edit does not fit the library, or makes a text that is no program, which
 *   every test would find
 */
export async function mutatedFiles(mutant: Mutant | undefined): Promise<Map<string, string>> {
  const texts = new Map(await mutableScripts());
  for (const edit of mutant?.edits ?? []) {
    const { file, find, replace, every } = edit;
    const { source, target } = pathsOf(edit);
    const text = texts.get(target) ?? readFileSync(source, 'utf8');
    const matches = text.split(find).length - 1;
    if (every ? matches === 0 : matches !== 1) {
      const where = `${file} has ${matches} places like ${JSON.stringify(find)}`;
      throw new Error(`the mutant "${mutant?.name}" fits the library no more: ${where}`);
    }
    texts.set(
      target,
      text.replaceAll(find, () => replace),
    );
  }
  for (const { target } of (mutant?.edits ?? []).map(pathsOf)) {
    const [error] = parseSync(target, texts.get(target) ?? '').errors;
    if (!error) continue;
    throw new Error(`the mutant "${mutant?.name}" is no program: ${target}: ${error.message}`);
  }
  return texts;
}

/**
 * The edited files by the paths of the sources from which they are compiled.
 * @throws Error if an edit does not fit the library
 */
export async function editedSources(mutant: Mutant): Promise<Readonly<Record<string, string>>> {
  const texts = [...(await mutatedFiles(mutant))];
  const hasScripts = mutant.edits.some(({ file }) => file.startsWith(GENERATED));
  // an edited script has the names of the sources, and so have all others then
  const edited = texts.filter(([target]) => hasScripts || !target.startsWith(GENERATED));
  return Object.fromEntries(edited.map(([target, text]) => [sourceOf(target), text]));
}

function sourceOf(target: string): string {
  const other = /^\.\.\/\.\.\/holdfast-(\w+)\/dist\/(.*)$/.exec(target);
  const [, of = 'holdfast', file = target] = other ?? [];
  return join(ROOT, 'packages', of, 'src', file.replace(/\.js$/, '.ts'));
}

let scripts: Promise<ReadonlyMap<string, string>> | undefined;

/** The modules of the scripts with the names of the sources, which the edits use. */
function mutableScripts(): Promise<ReadonlyMap<string, string>> {
  scripts ??= import(TOOLS).then((tools: { mutableModules: (folder: string) => Modules }) => {
    const modules = Object.entries(tools.mutableModules(SOURCES));
    return new Map(modules.map(([file, text]) => [`${GENERATED}/${file}`, text]));
  });
  return scripts;
}

type Modules = Readonly<Record<string, string>>;
