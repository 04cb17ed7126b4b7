/**
 * The compiled library under test. Its types are those of this repository. Its code comes from the
 * directory `HOLDFAST_DIST` (a copy with a planted fault) if that is set, and otherwise from
 * `packages/holdfast/dist`.
 */
import { pathToFileURL } from 'node:url';
import type { RandomSource } from '../../../packages/holdfast/dist/random-source.js';
import type { Report } from '../../../packages/holdfast/dist/engine/assertions.js';
import type { Engine } from '../../../packages/holdfast/dist/engine/engine.js';
import type { Holdfast, HoldfastOptions } from '../../../packages/holdfast/dist/index.js';
import type {
  FailureKind,
  Store,
  StoreFailure,
} from '../../../packages/holdfast/dist/store/port.js';

export interface Library {
  readonly Holdfast: new (
    store: Store,
    options: HoldfastOptions & { randomSource: RandomSource },
  ) => Holdfast;
  readonly Engine: new (receivers: (channel: string) => number) => Engine;
  /** See `engine/assertions.ts`. */
  readonly enableAssertions: (on: boolean, receiver: Report) => void;
  readonly StoreFailure: new (message: string, kind: FailureKind, cause: unknown) => StoreFailure;
}

/** @param folder the compiled code; unset for the code of this repository */
export async function loadLibrary(
  folder: string | undefined = process.env['HOLDFAST_DIST'],
): Promise<Library> {
  const base =
    folder === undefined
      ? new URL('../../../packages/holdfast/dist/', import.meta.url)
      : pathToFileURL(`${folder}/`);
  const load = async (path: string): Promise<object> =>
    (await import(new URL(path, base).href)) as object;
  const [later, index, engine, assertions, port] = await Promise.all([
    load('preload.js'),
    load('index.js'),
    load('engine/engine.js'),
    load('engine/assertions.js'),
    load('store/port.js'),
  ]);
  // no event of a run may wait for the file system
  await (later as { preload(): Promise<void> }).preload();
  return { ...index, ...engine, ...assertions, ...port } as Library;
}
