/** How many statements many leases cost. */
import { Holdfast } from 'holdfast';
import { until } from 'holdfast-testkit';
import { expect, it } from 'vitest';
import { postgres } from '../../src/index.js';
import { onServer } from '../support.js';

const database = onServer();
const LEASES = 2000;

it('a round of renewals of 2,000 leases takes at most 16 statements', async () => {
  const pool = database.pool({ max: 1 });
  let statements = 0;
  const query = (text: string, values: string[]) => {
    statements += 1;
    return pool.query(text, values);
  };
  const holdfast = database.add(new Holdfast(postgres(query), { ttl: 6000 }));
  const keys = Array.from({ length: LEASES }, (_, at) => `renewed ${at}`);
  const leases = await Promise.all(keys.map((key) => holdfast.mutex(key).acquire()));
  expect(statements).toBeLessThanOrEqual(16);
  statements = 0;
  // the first round; the next one comes seconds later
  await until(() => holdfast.stats().renewals >= LEASES);
  expect(statements).toBeLessThanOrEqual(16);
  expect(leases.every(({ held }) => held)).toBe(true);
});
