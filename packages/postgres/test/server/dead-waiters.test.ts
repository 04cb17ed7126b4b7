/** Waiters of killed processes: the server knows that no process listens for them. */
import { paced, spawnWorker, until } from 'holdfast-testkit';
import { expect, it } from 'vitest';
import { driverFor } from '../../src/detect.js';
import { settingsOf } from '../../src/options.js';
import { PostgresRegister } from '../../src/postgres-register.js';
import { onServer } from '../support.js';

const database = onServer();
const script = new URL('../children/waits.mjs', import.meta.url);

function register(): PostgresRegister {
  const settings = settingsOf({});
  return new PostgresRegister({ driver: driverFor(database.pool(), settings), ...settings });
}

/** The channel of the only waiter, from the state of the lock; `''` before it has one. */
async function channelOfWaiter(): Promise<string> {
  const query = "SELECT state FROM holdfast_locks WHERE key LIKE '%killed'";
  const { rows } = await database.watcher.query(query);
  const text = String(rows[0]?.['state']);
  const { lock } = JSON.parse(text.slice(text.indexOf('{'))) as State;
  const [waiter] = lock.waiters;
  const [channel = '', isNamed = false] = lock.terms[0] ?? [];
  return waiter !== undefined && isNamed ? channel + (waiter[0].split('.')[0] as string) : channel;
}

interface State {
  /** Waiters: the id, which begins with the name of the process. */
  readonly lock: {
    readonly waiters: readonly [id: string][];
    readonly terms: readonly [channel: string, isNamed: boolean][];
  };
}

const ignore = { message: () => undefined, up: () => undefined, down: () => undefined };

it('a waiter that is killed is skipped: the next one gets the lock at once', async () => {
  const [holder, next] = [database.instance(), database.instance()];
  const lease = await holder.mutex('killed').acquire();
  await using child = spawnWorker(script, { args: [JSON.stringify(database.server.connection)] });
  await child.next('waits');
  // a waiter without a channel is found by its silence only
  const channel = await until(channelOfWaiter);
  const queued = (count: number): Promise<unknown> =>
    until(async () => (await holder.inspect('killed'))?.waiterCount === count);
  await queued(1);
  // the claim window of the child is far longer
  const waiting = next.mutex('killed').acquire({ wait: Math.min(paced(20_000), 50_000) });
  await queued(2);
  const looking = register();
  expect(await looking.alive?.([channel])).toEqual([true]);
  child.kill();
  await child.exited;
  // the server needs a moment to end the connection, and what was alive is believed for a second
  await until(async () => String(await looking.alive?.([channel])) === 'false');
  await lease.release();
  await (await waiting).release();
  await looking.close();
});

it('a channel is alive while it is listened on, and not longer', async () => {
  const [one, other] = [register(), register()];
  const alive = async (): Promise<unknown> => await other.alive?.(['a', 'b']);
  expect(await alive()).toEqual([false, false]);
  const a = await one.listen?.('a', ignore);
  const b = await one.listen?.('b', ignore);
  expect(await alive()).toEqual([true, true]);
  await a?.close();
  // what was alive is believed for a second
  await until(async () => String(await alive()) === 'false,true');
  await b?.close();
  await until(async () => String(await alive()) === 'false,false');
  await Promise.all([one.close(), other.close()]);
});
