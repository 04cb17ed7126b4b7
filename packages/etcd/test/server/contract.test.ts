/** The contract of registers, on one member and on three. */
import type { Register, Swap, Swapped, Versioned } from 'holdfast/register';
import { registerCases } from 'holdfast/register/contract';
import { describe, it } from 'vitest';
import { EtcdRegister } from '../../src/etcd-register.js';
import { settingsOf } from '../../src/options.js';
import { onCluster } from '../support.js';

/** It sends calls together by itself. The cases about several keys show that. */
class Together extends EtcdRegister implements Register {
  readMany(keys: readonly string[]): Promise<Versioned[]> {
    return Promise.all(keys.map((key) => this.read(key)));
  }

  swapMany(swaps: readonly Swap[]): Promise<Swapped[]> {
    return Promise.all(swaps.map(({ key, version, change }) => this.swap(key, version, change)));
  }
}

describe.each([1, 3])('on %d members', (members) => {
  const test = onCluster({ members });
  const make = (): Register => new Together(test.cluster.endpoints, settingsOf({}));
  for (const one of registerCases) it(one.name, () => one.run(make), 60_000);
});
