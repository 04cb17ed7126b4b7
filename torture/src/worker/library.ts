/**
 * The library that the processes lock with: what `HOLDFAST_DIST` names (a compiled copy with a
 * mistake planted in it, or an older one), or else this repository's own. The judge's is always
 * the latter.
 */
import { pathToFileURL } from 'node:url';
import type * as holdfast from 'holdfast';

export type Library = Pick<typeof holdfast, 'Holdfast'>;

export async function loadLibrary(): Promise<Library> {
  const folder = process.env['HOLDFAST_DIST'];
  const from = folder === undefined ? 'holdfast' : pathToFileURL(`${folder}/index.js`).href;
  return (await import(from)) as Library;
}
