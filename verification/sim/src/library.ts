/**
 * The compiled library under test. Its types are those of this repository. Its code comes from the
 * directory `HOLDFAST_DIST` (a copy with a planted fault) if that is set, and otherwise from
 * `packages/holdfast/dist`.
 */
import { pathToFileURL } from 'node:url';
import type { RandomSource } from '../../../packages/holdfast/dist/base/random-source.js';
import type { ClientPort } from '../../../packages/holdfast/dist/store/clients/port.js';
import type { Report } from '../../../packages/holdfast/dist/engine/assertions.js';
import type { Engine } from '../../../packages/holdfast/dist/engine/engine.js';
import type { Push } from '../../../packages/holdfast/dist/engine/commands.js';
import type * as handover from '../../../packages/holdfast/dist/handover.js';
import type { Holdfast, HoldfastOptions } from '../../../packages/holdfast/dist/index.js';
import type { Store } from '../../../packages/holdfast/dist/store/port.js';

export interface Library {
  readonly Holdfast: new (
    store: Store,
    options: HoldfastOptions & { randomSource: RandomSource },
  ) => Holdfast;
  readonly Engine: new (receivers: (channel: string) => number) => Engine;
  /** See `engine/assertions.ts`. */
  readonly enableAssertions: (on: boolean, receiver: Report) => void;
  readonly handOver: typeof handover.handOver;
  readonly adopt: typeof handover.adopt;
  readonly RedisStore: new (client: ClientPort, prefix: string) => Store;
  /** The hashes of the scripts, by name. */
  readonly scripts: Readonly<Record<string, { readonly sha: string }>>;
  /** The scripts of the test for one server, and the hash of the first one. */
  readonly ONE_SERVER: { readonly sha: string; readonly look: string; readonly removal: string };
  readonly encodePush: (push: Push) => string;
}

/** @param folder the compiled code; unset for the code of this repository */
export function loadLibrary(folder?: string): Promise<Library> {
  return partsOf<Library>(
    [
      'index.js',
      'handover.js',
      'engine/engine.js',
      'engine/assertions.js',
      'store/redis/redis-store.js',
      'store/redis/generated/scripts.js',
      'store/redis/one-server.js',
      'store/push-text.js',
      // the first error reply loads it
      'store/redis/advice.js',
    ],
    folder,
  );
}

/** The exports of several modules of the compiled library in one object. */
export async function partsOf<L>(
  paths: readonly string[],
  folder: string | undefined = process.env['HOLDFAST_DIST'],
): Promise<L> {
  const base =
    folder === undefined
      ? new URL('../../../packages/holdfast/dist/', import.meta.url)
      : pathToFileURL(`${folder}/`);
  const parts = await Promise.all(
    paths.map(async (path) => (await import(new URL(path, base).href)) as object),
  );
  return Object.assign({}, ...parts) as L;
}
