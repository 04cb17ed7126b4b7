/** How many statements a lock costs, and many leases. */
import { Holdfast } from 'holdfast';
import { until } from 'holdfast-testkit';
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
  return database.add(new Holdfast(postgres(query), { ttl: 6000, localHandOffs: 0 }));
}

it('a lock and its release take a statement each, and read nothing', async () => {
  const holdfast = counted();
  await holdfast.mutex('pair').run(() => undefined);
  statements = 0;
  for (let count = 0; count < 10; count += 1) await holdfast.mutex('pair').run(() => undefined);
  expect(statements).toBe(20);
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
