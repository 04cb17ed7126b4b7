/**
 * A call costs the server the same for an owner with ten holds and for an owner with nearly the
 * maximum. Counted in inner calls and bytes, which do not depend on the load of the machine.
 */
import { type ServerName } from 'holdfast-testkit';
import { describe, expect, it } from 'vitest';
import { HOLD_LIMIT } from '../../src/engine/limits.js';
import type { KeyCommand, Reply } from '../../src/engine/commands.js';
import { asking } from '../support/crowds.js';
import { StoreOnServer } from '../support/store-on-server.js';

const retention = 60_000;
const ttl = 60_000;
const SIZES = [10, 100, HOLD_LIMIT - 1];

describe.each<ServerName>(['redis', 'valkey'])('on %s', (name) => {
  const at = new StoreOnServer(name, 'h:');

  const run = (...commands: KeyCommand[]): Promise<Reply[]> =>
    Promise.all(at.store.execute(commands));

  /** The number of calls of each command, by clients and by scripts. */
  async function calls(): Promise<Record<string, number>> {
    const found = (await at.redis.info('commandstats')).matchAll(/cmdstat_(\S+?):calls=(\d+)/g);
    return Object.fromEntries([...found].map(([, command, count]) => [command, Number(count)]));
  }

  /** Inner calls of one command, without the calls that the client made. */
  async function price(command: KeyCommand): Promise<string> {
    await at.redis.config('RESETSTAT');
    await run(command);
    const all = Object.entries(await calls());
    return all
      .filter(([name]) => !/^(eval|evalsha|info|config.*)$/.test(name))
      .map(([name, count]) => `${name} ${count}`)
      .sort()
      .join(', ');
  }

  /** An owner with holds `h0`, `h1`, ... */
  async function owner(capacity: number, holds: number): Promise<(id: string) => KeyCommand> {
    const key = `${capacity} of ${holds}`;
    const ask = (id: string): KeyCommand => asking(id, { key, capacity, ttl, owner: 'o' });
    for (let from = 0; from < holds; from += 500) {
      const count = Math.min(500, holds - from);
      await run(...Array.from({ length: count }, (_, at) => ask(`h${from + at}`)));
    }
    return ask;
  }

  it.each([
    ['a mutex', 1],
    ['a semaphore', 3],
  ])('no call costs more for an owner with many holds of %s', async (_, capacity) => {
    const prices: Record<string, string>[] = [];
    for (const holds of SIZES) {
      const ask = await owner(capacity, holds);
      const { key } = ask('');
      const middle = `h${holds >> 1}`;
      prices.push({
        joins: await price(ask('one more')),
        repeats: await price(ask('one more')),
        renews: await price({ op: 'renew', key, id: middle, ttl, retention }),
        polls: await price({ op: 'poll', key, ids: [middle], patience: 0, retention }),
        releases: await price({ op: 'release', key, id: middle, retention }),
        inspects: await price({ op: 'inspect', key, limit: 5 }),
        refuses: await price(asking('other', { key, capacity, weight: capacity, queue: false })),
      });
      const values = await at.redis.hvals(`h:{${key}}`);
      const largest = Math.max(...values.map((value) => value.length));
      expect(largest, 'bytes of the largest field').toBeLessThan(200);
      const [ended] = await run({ op: 'forceRelease', key, id: '', retention });
      expect(ended).toMatchObject({ status: 'forced', ended: ['h0'] });
      expect(await at.redis.hlen(`h:{${key}}`), 'fields that are left').toBe(1);
    }
    expect(prices[1]).toEqual(prices[0]);
    expect(prices[2]).toEqual(prices[0]);
  });
});
