/** How many statements a lock costs, and many leases. */
import { Holdfast } from 'holdfast';
import { paced, until } from 'holdfast-testkit';
import { expect, it } from 'vitest';
import { postgres } from '../../src/index.js';
import { onServer } from '../support.js';

const database = onServer();
const LEASES = 2000;

let statements = 0;

function counted(): Holdfast {
  const pool = database.pool({ max: 1 });
  statements = 0;
  const query = (text: string, values: string[]) => {
    statements += 1;
    return pool.query(text, values);
  };
  const store = postgres(query, { timeout: paced(3000) });
  return database.add(
    new Holdfast(store, { ttl: paced(6000), localHandOffs: 0, requestTimeout: paced(2000) }),
  );
}

it('a lock and its release take a statement each, and read nothing', async () => {
  const holdfast = counted();
  await holdfast.mutex('pair').run(() => undefined);
  // one that has no answer for long is asked for again, so the least of some turns counts
  const turns: number[] = [];
  for (let turn = 0; turn < 5; turn += 1) {
    statements = 0;
    for (let count = 0; count < 5; count += 1) await holdfast.mutex('pair').run(() => undefined);
    turns.push(statements);
  }
  expect(Math.min(...turns)).toBe(10);
});

it('a round of renewals of 2,000 leases takes at most 16 statements', async () => {
  const holdfast = counted();
  const keys = Array.from({ length: LEASES }, (_, at) => `renewed ${at}`);
  const leases = await Promise.all(keys.map((key) => holdfast.mutex(key).acquire()));
  expect(statements).toBeLessThanOrEqual(16);
  statements = 0;
  // the first round; the next one comes seconds later
  await until(() => holdfast.stats().renewals >= LEASES);
  expect(statements).toBeLessThanOrEqual(16);
  expect(leases.every(({ held }) => held)).toBe(true);
});
