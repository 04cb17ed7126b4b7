/** Makes a copy of the compiled library with a mistake in it. */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Mutant } from './mutant.js';

const DIST: string = fileURLToPath(new URL('../../../packages/holdfast/dist', import.meta.url));

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
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }\n');
    const dist = join(folder, 'dist');
    cpSync(DIST, dist, { recursive: true, filter: isNeeded });
    for (const [file, text] of texts) writeFileSync(join(dist, file), text);
    return await work(dist);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The folders, and the modules in them: neither types nor source maps run. */
const isNeeded = (path: string): boolean => path.endsWith('.js') || extname(path) === '';

/**
 * The texts of the files that a mutated copy does not share with the compiled library, by their
 * paths below `dist`.
 * @throws Error if an edit does not fit the library
 */
export async function mutatedFiles(mutant: Mutant | undefined): Promise<Map<string, string>> {
  const texts = new Map(await mutableScripts());
  for (const { file, find, replace, every } of mutant?.edits ?? []) {
    const text = texts.get(file) ?? readFileSync(join(DIST, file), 'utf8');
    const matches = text.split(find).length - 1;
    if (every ? matches === 0 : matches !== 1) {
      const where = `${file} has ${matches} places like ${JSON.stringify(find)}`;
      throw new Error(`the mutant "${mutant?.name}" fits the library no more: ${where}`);
    }
    texts.set(
      file,
      text.replaceAll(find, () => replace),
    );
  }
  return texts;
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
