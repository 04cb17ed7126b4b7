/** The contract of registers. */
import type { Register, Swap, Swapped, Versioned } from 'holdfast/register';
import { registerCases } from 'holdfast/register/contract';
import { describe, it } from 'vitest';
import { settingsOf } from '../../src/options.js';
import { SqliteRegister } from '../../src/sqlite-register.js';
import { client, inFolder } from '../support.js';

const folder = inFolder();

/** It sends calls together by itself. The cases about several keys show that. */
class Together extends SqliteRegister implements Register {
  readMany(keys: readonly string[]): Promise<Versioned[]> {
    return Promise.all(keys.map((key) => this.read(key)));
  }

  swapMany(swaps: readonly Swap[]): Promise<Swapped[]> {
    return Promise.all(swaps.map(({ key, version, change }) => this.swap(key, version, change)));
  }
}

describe.each([true, false])('with sockets: %s', (listen) => {
  const path = folder.file(`contract-${listen}.db`);
  const make = (): Register => new Together(path, settingsOf({ client, listen }));
  for (const one of registerCases) it(one.name, () => one.run(make), 60_000);
});
