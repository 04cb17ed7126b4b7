/** The compiled register store under test, from the same folder as the rest of the library. */
import type * as handover from '../../../../packages/holdfast/dist/handover.js';
import type { Holdfast, HoldfastOptions } from '../../../../packages/holdfast/dist/index.js';
import type { RandomSource } from '../../../../packages/holdfast/dist/base/random-source.js';
import type * as register from '../../../../packages/holdfast/dist/register.js';
import type { Store } from '../../../../packages/holdfast/dist/store/port.js';
import type * as store from '../../../../packages/holdfast/dist/store/register/register-store.js';
import type { Loaded } from '../../../../packages/holdfast/dist/store/register/state-codec.js';
import { partsOf } from '../library.js';

export interface RegisterLibrary {
  readonly Holdfast: new (
    store: Store,
    options: HoldfastOptions & { randomSource: RandomSource },
  ) => Holdfast;
  readonly isHoldfastError: (error: unknown) => boolean;
  readonly handOver: typeof handover.handOver;
  readonly adopt: typeof handover.adopt;
  readonly RegisterError: typeof register.RegisterError;
  readonly standingOf: typeof register.standingOf;
  readonly RegisterStore: new (
    port: register.Register,
    options: store.RegisterStoreOptions,
  ) => Store;
  readonly decode: (key: string, state: string) => Loaded;
}

/** @param folder the compiled code; unset for the code of this repository */
export function loadRegister(folder?: string): Promise<RegisterLibrary> {
  return partsOf<RegisterLibrary>(
    [
      'index.js',
      'handover.js',
      'register.js',
      'store/register/register-store.js',
      'store/register/state-codec.js',
    ],
    folder,
  );
}
