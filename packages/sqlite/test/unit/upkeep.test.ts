/** The clock of a file after a start of the system, and the removal of forgotten rows. */
import { paced, until } from 'holdfast-testkit';
import { expect, it } from 'vitest';
import { loadClient } from '../../src/client.js';
import { Database } from '../../src/database.js';
import { Sweeps } from '../../src/sweeps.js';
import { client, inFolder } from '../support.js';

const folder = inFolder();
const HOUR = 3_600_000_000;

function databaseOn(path: string): Database {
  const database = new Database({ path, load: () => loadClient(client), timeout: 3000 });
  folder.later(() => database.close());
  return database;
}

it('a start of the system with a clock an hour behind ends old leases', async () => {
  const file = folder.file();
  const database = databaseOn(file);
  const set = (text: string): Promise<unknown> =>
    database.run(({ handle }) => handle.exec(`UPDATE holdfast_boots SET ${text}`));
  // on another system the clock is the wall clock
  if ((await database.run(({ origin }) => origin.boot)) === '') return;
  await set(`origin = origin + ${HOUR}`);
  const ttl = paced(300);
  const lease = await folder.instance(file).mutex('a', { ttl, renew: false }).acquire();
  await set("boot = 'before'");
  const next = await folder.instance(file).mutex('a').acquire();
  expect(next.fence).toBeGreaterThan(lease.fence);
  const other = await folder.instance(file).mutex('b').acquire();
  expect(other.fence).toBeGreaterThan(lease.fence);
});

it('a process that makes one row may remove others, from any place on', async () => {
  const database = databaseOn(folder.file());
  const keys = Array.from({ length: 10 }, (_, at) => `${at}`);
  await database.run(({ statements }) => {
    for (const key of keys) statements.insert.run(key, 'v', '', 1);
  });
  const left = (): Promise<unknown> =>
    database.run(({ statements }) => (statements.count.get() as { count: number }).count);
  const numbers = [0.998, 0.5];
  const sweeps = new Sweeps(() => numbers.shift() ?? 0);
  await database.run(() => undefined);
  sweeps.added(1, database);
  // behind the row with the number 5
  await until(async () => (await left()) === 6);
  // and from the start on
  sweeps.added(200, database);
  await until(async () => (await left()) === 0);
});
