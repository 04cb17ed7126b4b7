/** Programs behind a real pooler that gives each transaction another connection. */
import { Holdfast } from 'holdfast';
import { paced, type Pgbouncer, sleep, startPgbouncer, until } from 'holdfast-testkit';
import { Pool } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { postgres, type PostgresOptions } from '../../src/index.js';
import { onServer } from '../support.js';

const database = onServer();
const LIMIT = { timeout: paced(60_000) };
let pooler: Pgbouncer;

beforeAll(async () => {
  pooler = await startPgbouncer(database.server);
}, 300_000);
afterAll(() => pooler?.[Symbol.asyncDispose]());

/** Two instances with pools of their own, as two pods have. */
function pods(options: PostgresOptions): Holdfast[] {
  return [1, 2].map(() => {
    const pool = new Pool(pooler.connection);
    database.later(() => pool.end());
    return database.add(new Holdfast(postgres(pool, options), { claimWindow: 500 }));
  });
}

/** Takes one lock many times. Resolves to the most tasks that were inside at once. */
async function crowd(all: readonly Holdfast[], key: string): Promise<number> {
  let inside = 0;
  let most = 0;
  const work = async (holdfast: Holdfast): Promise<void> => {
    for (let turn = 0; turn < 5; turn++) {
      await holdfast.mutex(key).run(async () => {
        most = Math.max(most, (inside += 1));
        await sleep(1);
        inside -= 1;
      });
    }
  };
  await Promise.all(all.flatMap((one) => [1, 2, 3].map(() => work(one))));
  return most;
}

describe('two pods behind a pooler in transaction mode', () => {
  it('exclude each other, and are woken by a direct connection', LIMIT, async () => {
    const { host, user, database: name } = database.server.connection;
    const direct = `postgres://${user}@/${name}?host=${encodeURIComponent(host)}`;
    const both = pods({ listen: direct });
    // a busy machine may pass on all locks before both connections for messages are open
    const isWoken = async (): Promise<boolean> => {
      expect(await crowd(both, 'direct')).toBe(1);
      return both.every((one) => one.stats().pushes);
    };
    await until(isWoken, { within: paced(30_000), what: 'both pods get messages' });
  });

  it('exclude each other, and poll without one', LIMIT, async () => {
    const both = pods({});
    expect(await crowd(both, 'polled')).toBe(1);
    expect(both.map((one) => one.stats().pushes)).toEqual([false, false]);
  });

  it('with locks of their own get in at once: control', LIMIT, async () => {
    const [one, other] = pods({ listen: false }) as [Holdfast, Holdfast];
    let both = false;
    await one.mutex('own').run(async () => {
      await other.mutex('other').run(() => void (both = true));
    });
    expect(both).toBe(true);
  });
});
