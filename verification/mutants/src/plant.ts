/** Makes a copy of the compiled library with a mistake in it. */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Edit, Mutant } from './mutant.js';

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
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-mutant-'));
  try {
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }\n');
    const dist = join(folder, 'dist');
    cpSync(DIST, dist, { recursive: true, filter: (path) => !path.endsWith('.map') });
    for (const [file, text] of Object.entries(await mutableScripts())) {
      writeFileSync(join(dist, GENERATED, file), text);
    }
    for (const edit of mutant?.edits ?? []) plant(dist, mutant?.name ?? '', edit);
    return await work(dist);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The modules of the scripts with the names of the sources, which the edits use. */
async function mutableScripts(): Promise<Record<string, string>> {
  const tools = (await import(TOOLS)) as {
    mutableModules: (folder: string) => Record<string, string>;
  };
  return tools.mutableModules(SOURCES);
}

function plant(folder: string, name: string, { file, find, replace, every }: Edit): void {
  const path = join(folder, file);
  const text = readFileSync(path, 'utf8');
  const matches = text.split(find).length - 1;
  if (every ? matches === 0 : matches !== 1) {
    const where = `${file} has ${matches} places like ${JSON.stringify(find)}`;
    throw new Error(`the mutant "${name}" fits the library no more: ${where}`);
  }
  writeFileSync(
    path,
    text.replaceAll(find, () => replace),
  );
}
