/**
 * Plants a mistake into the modules that vitest loads, for `npm run mutants -- --tests`. Tests load
 * TypeScript, and the edits of a mistake are those of the compiled files, so an edited file is
 * loaded as it was compiled. Programs that a test starts load the unchanged files. The config of
 * vitest imports this file, so it runs without a build.
 */
import { readFileSync } from 'node:fs';

/** The variable with the path of a file: the texts of the edited modules, by their sources. */
export const PLANTED = 'HOLDFAST_PLANTED';

/** A plugin of vitest, as far as it is used. */
interface Plugin {
  readonly name: string;
  readonly enforce: 'pre';
  load(id: string): string | undefined;
}

/** The plugin that loads the edited files; none without the variable. */
export function planted(): Plugin[] {
  const file = process.env[PLANTED];
  if (file === undefined) return [];
  const texts = JSON.parse(readFileSync(file, 'utf8')) as Readonly<Record<string, string>>;
  return [{ name: 'planted', enforce: 'pre', load: (id) => texts[id.replace(/\?.*/, '')] }];
}
