/** The contract of registers. */
import { registerCases } from 'holdfast/register/contract';
import { describe, it } from 'vitest';
import { settingsOf } from '../../src/options.js';
import { SqliteRegister } from '../../src/sqlite-register.js';
import { client, inFolder } from '../support.js';

const folder = inFolder();

describe.each([true, false])('with sockets: %s', (listen) => {
  const path = folder.file(`contract-${listen}.db`);
  const make = (): SqliteRegister => new SqliteRegister(path, settingsOf({ client, listen }));
  for (const one of registerCases) it(one.name, () => one.run(make), 60_000);
});
