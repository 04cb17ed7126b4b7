/** How many statements a lock costs, and many leases. */
import { Holdfast } from 'holdfast';
import { paced, until } from 'holdfast-testkit';
import { Client } from 'pg';
import { describe, expect, it } from 'vitest';
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
    new Holdfast(store, { ttl: paced(12_000), localHandOffs: 0, requestTimeout: paced(2000) }),
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
  await until(() => holdfast.stats().renewals >= LEASES, { within: paced(30_000) });
  expect(statements).toBeLessThanOrEqual(16);
  expect(leases.every(({ held }) => held)).toBe(true);
});

describe('a hand-off between two processes', () => {
  const texts: string[] = [];
  class Counting extends Client {
    override query(...args: unknown[]): never {
      const [given] = args as [{ text?: string } | string];
      texts.push(typeof given === 'string' ? given : (given.text ?? ''));
      return (super.query as (...all: unknown[]) => unknown)(...args) as never;
    }
  }
  const instance = (): Holdfast =>
    database.add(
      new Holdfast(postgres(database.pool({ Client: Counting }), { timeout: paced(3000) }), {
        ...{ requestTimeout: paced(2000), claimWindow: paced(1000) },
      }),
    );

  it('reads nothing: the message brings the state', async () => {
    const both = [instance(), instance()];
    let last: number | undefined;
    let handOffs = 0;
    const passed = (to: number): void => {
      if (last !== undefined && last !== to) handOffs += 1;
      // a process that comes to a busy lock needs some attempts to join its queue
      if (handOffs === 20) texts.length = 0;
      last = to;
    };
    const loop = async (holdfast: Holdfast, who: number): Promise<void> => {
      while (handOffs < 100)
        await holdfast.mutex('passed on', { fair: true }).run(() => passed(who));
    };
    // each process has a task that waits: its end of a turn asks for the next one
    await Promise.all([0, 1, 2, 3].flatMap(() => both.map(loop)));
    const reads = texts.filter((text) => text.startsWith('SELECT l.state')).length;
    expect(texts.length).toBeGreaterThan(80);
    // a poll or a lost race may come between
    expect(reads).toBeLessThan(40);
  });
});
