/** The contract of registers, with each client. */
import { PGlite } from '@electric-sql/pglite';
import type { Register, Swap, Swapped, Versioned } from 'holdfast/register';
import { registerCases } from 'holdfast/register/contract';
import postgresJs from 'postgres';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { driverFor } from '../../src/detect.js';
import { createTable } from '../../src/index.js';
import { settingsOf } from '../../src/options.js';
import { PostgresRegister } from '../../src/postgres-register.js';
import { onServer } from '../support.js';

const database = onServer({ settings: { max_connections: '100' } });

let lite: PGlite;
beforeAll(async () => {
  lite = new PGlite();
  await createTable(lite);
}, 60_000);
afterAll(() => lite.close());

const CLIENTS: Record<string, () => unknown> = {
  pg: () => database.pool(),
  'postgres.js': () => {
    const sql = postgresJs({ ...database.server.connection, max: 1 });
    database.later(() => sql.end());
    return sql;
  },
  PGlite: () => lite,
  'a function': () => {
    const pool = database.pool();
    return (text: string, values: string[]) => pool.query(text, values);
  },
};

/** It sends calls together by itself. The cases about several keys show that. */
class Together extends PostgresRegister implements Register {
  readMany(keys: readonly string[]): Promise<Versioned[]> {
    return Promise.all(keys.map((key) => this.read(key)));
  }

  swapMany(swaps: readonly Swap[]): Promise<Swapped[]> {
    return Promise.all(swaps.map(({ key, version, change }) => this.swap(key, version, change)));
  }
}

describe.each(Object.entries(CLIENTS))('with %s', (_, open) => {
  const make = (): Register => {
    const settings = settingsOf({});
    return new Together({ driver: driverFor(open(), settings), ...settings });
  };
  for (const one of registerCases) it(one.name, () => one.run(make), 60_000);
});
