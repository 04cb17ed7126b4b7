/** The register of the examples on MySQL, on a MariaDB server. */
import { type MariaDb, startMariaDb } from 'holdfast-testkit';
import { createPool, type Pool } from 'mysql2/promise';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTable, MysqlRegister } from '../../../../examples/src/stores/mysql-register.js';
import { Holdfast } from '../../src/index.js';
import { register, type Swapped, type Versioned } from '../../src/register.js';
import { registerCases } from '../../src/register-contract.js';
import { patient } from '../support/patient.js';

let server: MariaDb;
let pool: Pool;

beforeAll(async () => {
  server = await startMariaDb();
  const { socketPath } = server;
  const first = createPool({ socketPath });
  await first.query('CREATE DATABASE app');
  await first.query('CREATE DATABASE without_table');
  await first.end();
  pool = createPool({ socketPath, database: 'app', connectionLimit: 8 });
  await Promise.all([createTable(pool), createTable(pool)]);
}, 400_000);
afterAll(async () => {
  await pool?.end();
  await server?.[Symbol.asyncDispose]();
});

describe('keeps the contract of registers', () => {
  for (const one of registerCases) it(one.name, () => one.run(() => new MysqlRegister(pool)));
});

const programs = (): Holdfast[] =>
  Array.from({ length: 4 }, () => new Holdfast(register(new MysqlRegister(pool)), patient()));

it('one of four programs works at a time, each with a higher fence', async () => {
  const all = programs();
  const fences: number[] = [];
  let inside = 0;
  const work = async (holdfast: Holdfast): Promise<void> => {
    for (let round = 0; round < 3; round++) {
      await holdfast.mutex('report').run(async ({ fence }) => {
        inside += 1;
        expect(inside).toBe(1);
        await pool.query('SELECT SLEEP(0.002)');
        fences.push(fence);
        inside -= 1;
      });
    }
  };
  await Promise.all(all.map(work));
  expect(fences).toHaveLength(12);
  expect(fences).toEqual([...new Set(fences)].sort((a, b) => a - b));
  await Promise.all(all.map((one) => one.close()));
});

it('control: a register that swaps without a version lets two programs in', async () => {
  let reads = 0;
  let open = (): void => undefined;
  const bothHaveRead = new Promise<void>((resolve) => (open = resolve));
  class Careless extends MysqlRegister {
    override async read(key: string): Promise<Versioned> {
      const found = await super.read(key);
      reads += 1;
      if (reads === 2) open();
      await bothHaveRead;
      return found;
    }

    override async swap(...[key, , change]: Parameters<MysqlRegister['swap']>): Promise<Swapped> {
      for (;;) {
        const { version } = await super.read(key);
        const swapped = await super.swap(key, version, change);
        if (swapped !== false) return swapped;
      }
    }
  }
  const all = [0, 1].map(() => new Holdfast(register(new Careless(pool))));
  const leases = await Promise.all(all.map((one) => one.mutex('careless').tryAcquire()));
  expect(leases.filter((lease) => lease?.held === true)).toHaveLength(2);
  for (const lease of leases) await lease?.release();
  await Promise.all(all.map((one) => one.close()));
});

it('an unused state is removed, and a table that is missing is refused by name', async () => {
  const table = new MysqlRegister(pool);
  const { version } = await table.read('old');
  await table.swap('old', version, { state: 'text', forgetAt: 1, messages: [] });
  await table.sweep();
  const [rows] = await pool.query("SELECT 1 FROM holdfast_locks WHERE name = 'old'");
  expect(rows).toEqual([]);
  const other = createPool({ socketPath: server.socketPath, database: 'without_table' });
  const holdfast = new Holdfast(register(new MysqlRegister(other)));
  await expect(holdfast.mutex('a').tryAcquire()).rejects.toMatchObject({
    code: 'HOLDFAST_REFUSED',
    message: expect.stringContaining('holdfast_locks'),
  });
  await holdfast.close();
  await other.end();
});
