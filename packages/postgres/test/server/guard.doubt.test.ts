/** Guards of leases in doubt: their process does not know whether they are held. */
import { type Clock, Holdfast, type Lease } from 'holdfast';
import { paced } from 'holdfast-testkit';
import type { Client, QueryResult } from 'pg';
import { expect, it } from 'vitest';
import { guard, postgres } from '../../src/index.js';
import { onServer } from '../support.js';

const database = onServer();

async function begun(): Promise<Client> {
  const tx = await database.client();
  await tx.query('BEGIN');
  return tx;
}

/** A lease that is in doubt until the statements of its store go on. */
async function doubted(key: string): Promise<{ lease: Lease; open: () => void }> {
  const pool = database.pool();
  let opened: Promise<void> = Promise.resolve();
  let open = (): void => undefined;
  const query = async (text: string, values: readonly unknown[]): Promise<QueryResult> => {
    await opened;
    return pool.query(text, [...values]);
  };
  let step = 0;
  const clock: Clock = {
    now: () => performance.now(),
    wall: () => Date.now() + step,
    after(ms, callback) {
      const timer = setTimeout(callback, ms);
      return { cancel: () => clearTimeout(timer) };
    },
  };
  const options = { clock, ttl: paced(60_000) };
  const lease = await database
    .add(new Holdfast(postgres(query), options))
    .mutex(key)
    .acquire();
  opened = new Promise<void>((resolve) => (open = resolve));
  database.later(async () => open());
  step = 60_000;
  expect(lease.state).toBe('doubted');
  return { lease, open };
}

it('a lease in doubt is guarded if its row says that it is held', async () => {
  const { lease, open } = await doubted('doubted');
  const tx = await begun();
  await guard(lease, tx);
  expect(lease.state).toBe('doubted');
  await database.instance().forceRelease('doubted');
  expect(await database.instance().mutex('doubted').tryAcquire()).toBeNull();
  await tx.query('COMMIT');
  open();
  expect(await lease.verify()).toBe(false);
});

it('a lease in doubt is refused if its row says that it has ended', async () => {
  const { lease, open } = await doubted('over');
  const refused = async (): Promise<void> => {
    const tx = await begun();
    await expect(guard(lease, tx)).rejects.toMatchObject({ code: 'HOLDFAST_LOST' });
    await tx.query('ROLLBACK');
  };
  const other = database.instance();
  await other.forceRelease('over');
  await refused();
  const next = await other.mutex('over').acquire();
  await refused();
  await next.release();
  open();
  expect(await lease.verify()).toBe(false);
});

it('a lease in doubt is refused if its program gave it back', async () => {
  const { lease, open } = await doubted('back');
  const released = lease.release();
  await expect(guard(lease, await begun())).rejects.toMatchObject({ code: 'HOLDFAST_LOST' });
  open();
  await released;
});
