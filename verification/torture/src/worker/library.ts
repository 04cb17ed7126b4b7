/**
 * The library that the processes lock with: the compiled copy that `HOLDFAST_DIST` names (a mutant
 * or an older version), or else this repository's own. The runner always uses its own.
 */
import { pathToFileURL } from 'node:url';
import type * as holdfast from 'holdfast';

export type Library = Pick<typeof holdfast, 'Holdfast' | 'quorum'>;

export async function loadLibrary(): Promise<Library> {
  const folder = process.env['HOLDFAST_DIST'];
  const from = folder === undefined ? 'holdfast' : pathToFileURL(`${folder}/index.js`).href;
  return (await import(from)) as Library;
}
