/** Runs a trial against one mutant, on real servers. */
import { fileURLToPath, pathToFileURL } from 'node:url';
import { MUTANTS } from './catalogue/all.js';
import type { Tried } from './catalogue/trials.js';
import { withMutant } from './plant.js';
import { outputOf } from './programs.js';

const TRIALS: string = fileURLToPath(new URL('../../trials/dist/main.js', import.meta.url));

/**
 * Resolves to the problems that the trial found, and to an empty list if it passed.
 * @param mutant `undefined` for the unchanged library
 */
export function tryOut(
  { trial, kind, client = 'ioredis-6' }: Tried,
  mutant: string | undefined,
  seed: number,
): Promise<string[]> {
  const planted = MUTANTS.find(({ name }) => name === mutant);
  if (planted?.name !== mutant) throw new Error(`no mutant has the name ${mutant}`);
  return withMutant(planted, async (dist) => {
    const library = pathToFileURL(`${dist}/index.js`).href;
    const one = ['--share', '--trials', '1', '--kind', kind, '--seed', `${seed}`];
    const more = ['--others', '99', '--client', client];
    const words = ['--import', hook(library), TRIALS, trial, ...one, ...more];
    const { code, output } = await outputOf(words);
    const problems = [...output.matchAll(/^ {2}! (.*)/gm)].map(([, text = '']) => text);
    // a crash is no finding
    if ((code === 0) !== (problems.length === 0)) throw new Error(`${trial} failed: ${output}`);
    return problems;
  });
}

/** A module that leads imports of the library to another copy. */
function hook(library: string): string {
  const resolve = `export const resolve = (name, context, next) =>
    next(name === 'holdfast' ? ${JSON.stringify(library)} : name, context);`;
  const url = JSON.stringify(data(resolve));
  return data(`import { register } from 'node:module'; register(${url});`);
}

const data = (text: string): string => `data:text/javascript,${encodeURIComponent(text)}`;
