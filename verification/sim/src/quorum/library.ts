/** The compiled quorum store under test, from the same folder as the rest of the library. */
import type { Clock } from '../../../../packages/holdfast/dist/base/clock.js';
import type { Holdfast, HoldfastOptions } from '../../../../packages/holdfast/dist/index.js';
import type { RandomSource } from '../../../../packages/holdfast/dist/base/random-source.js';
import type { Store } from '../../../../packages/holdfast/dist/store/port.js';
import type * as memory from '../../../../packages/holdfast/dist/store/quorum/memory-acceptor.js';
import type { QuorumParts } from '../../../../packages/holdfast/dist/store/quorum/quorum-store.js';
import type { QuorumRecord } from '../../../../packages/holdfast/dist/store/quorum/record.js';
import type { Loaded } from '../../../../packages/holdfast/dist/store/register/state-codec.js';
import { partsOf } from '../library.js';

export interface QuorumLibrary {
  readonly Holdfast: new (
    store: Store,
    options: HoldfastOptions & { randomSource: RandomSource },
  ) => Holdfast;
  readonly isHoldfastError: (error: unknown) => boolean;
  readonly QuorumStore: new (parts: QuorumParts, prefix?: string) => Store;
  readonly MemoryAcceptor: new (
    name: string,
    clock: Clock,
    uptime: number,
    of?: readonly [memory.MemoryAcceptor, string],
  ) => memory.MemoryAcceptor;
  readonly decodeRecord: (value: string) => QuorumRecord;
  readonly decode: (key: string, state: string) => Loaded;
}

/** @param folder the compiled code; unset for the code of this repository */
export function loadQuorum(folder?: string): Promise<QuorumLibrary> {
  return partsOf<QuorumLibrary>(
    [
      'index.js',
      'store/quorum/quorum-store.js',
      'store/quorum/memory-acceptor.js',
      'store/quorum/record.js',
      'store/register/state-codec.js',
    ],
    folder,
  );
}
