/**
 * The library under test, as it was compiled. Its types are those of this repository; its code
 * comes from `HOLDFAST_DIST` if that names a directory (a copy with a planted fault), and from
 * `packages/holdfast/dist` otherwise.
 */
import { pathToFileURL } from 'node:url';
import type { RandomSource } from '../../../packages/holdfast/dist/random-source.js';
import type { Engine } from '../../../packages/holdfast/dist/engine/engine.js';
import type { Holdfast, HoldfastOptions } from '../../../packages/holdfast/dist/index.js';
import type { Store, StoreFailure } from '../../../packages/holdfast/dist/store/port.js';

export interface Library {
  readonly Holdfast: new (
    store: Store,
    options: HoldfastOptions & { randomSource: RandomSource },
  ) => Holdfast;
  readonly Engine: new (receivers: (channel: string) => number) => Engine;
  readonly StoreFailure: new (message: string, answered: boolean, cause: unknown) => StoreFailure;
}

/** @param folder what was compiled; unset for this repository's own */
export async function loadLibrary(
  folder: string | undefined = process.env['HOLDFAST_DIST'],
): Promise<Library> {
  const base =
    folder === undefined
      ? new URL('../../../packages/holdfast/dist/', import.meta.url)
      : pathToFileURL(`${folder}/`);
  const load = async (path: string): Promise<object> =>
    (await import(new URL(path, base).href)) as object;
  const [index, engine, port] = await Promise.all([
    load('index.js'),
    load('engine/engine.js'),
    load('store/port.js'),
  ]);
  return { ...index, ...engine, ...port } as Library;
}
