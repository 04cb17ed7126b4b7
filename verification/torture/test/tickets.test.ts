/** The queue in a stored state, as the torture reads it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Holdfast } from 'holdfast';
import { sqlite } from 'holdfast-sqlite';
import { until } from 'holdfast-testkit';
import { expect, it } from 'vitest';
import { whenFree } from '../src/sqlite/client.js';
import { ticketsOf } from '../src/tickets.js';

it('finds the waiters of a lock with their tickets, in order', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-tickets-'));
  const file = join(folder, 'locks.db');
  const instances = [1, 2, 3].map(() => new Holdfast(sqlite(file)));
  const [first, ...others] = instances.map((one) => one.mutex('a', { fair: true }));
  const lease = await first?.acquire();
  const waiting = others.map((one, at) => one.acquire({ label: `${at}` }));
  const state = (): Promise<string | undefined> =>
    whenFree(file, (database) => {
      const row = database.prepare('SELECT state FROM holdfast_locks').get();
      return (row as { state?: string } | undefined)?.state;
    });
  const tickets = await until(async () => {
    const found = ticketsOf(await state());
    return found.size === 2 && found;
  });
  const waiters = (await instances[0]?.inspect('a'))?.waiters ?? [];
  expect([...tickets.keys()]).toEqual(waiters.map(({ id }) => id));
  const [one = 0, two = 0] = tickets.values();
  expect(one).toBeLessThan(two);
  await lease?.release();
  for (const each of await Promise.all(waiting.map((one) => one.then((held) => held.release())))) {
    expect(each).toBe('freed');
  }
  expect(ticketsOf(await state()).size).toBe(0);
  expect(ticketsOf(undefined).size).toBe(0);
  await Promise.all(instances.map((one) => one.close()));
  rmSync(folder, { recursive: true });
});
