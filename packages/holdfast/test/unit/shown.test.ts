/** What `console.log` prints for a lease, a term, a run and an instance. */
import { inspect } from 'node:util';
import { Redis } from 'ioredis';
import { createClient } from 'redis';
import { afterAll, expect, it } from 'vitest';
import { Holdfast, memory } from '../../src/index.js';

const holdfast = new Holdfast(memory());
afterAll(() => holdfast.close({ grace: 0 }));

it('names the key, the fence, the state and the remaining time', async () => {
  const lease = await holdfast.mutex('a').acquire({ ttl: 10_000 });
  expect(inspect(lease)).toMatch(
    /^Lease \{\s*key: 'a',\s*id: '[^']+',\s*fence: \d+,\s*state: 'held',\s*remaining: [\d.]+\s*\}$/,
  );
  await lease.release();
  expect(inspect(lease)).toMatch(/state: 'released',\s*remaining: 0/);
  const several = await holdfast.allOf(['b', 'c']).acquire();
  expect(inspect(several, { breakLength: Infinity })).toMatch(
    /^MultiLease \{ fences: Map\(2\) \{ 'b' => \d+, 'c' => \d+ \}, held: true, remaining: /,
  );
  expect(inspect({ write: await holdfast.rwLock('d').write.acquire() })).toMatch(/RwLease \{/);
});

const flat = (one: unknown): string => inspect(one, { breakLength: Infinity });

it('names the key, the id, the term and the state of a leader', async () => {
  const leader = await holdfast.election('e').campaign();
  const start = `Leadership { key: 'e', id: '${leader.id}', term: ${leader.term}, state: `;
  expect(flat(leader)).toBe(`${start}'held' }`);
  expect(JSON.parse(JSON.stringify(leader))).toMatchObject({ key: 'e', state: 'held' });
  await leader.resign();
  expect(flat(leader)).toBe(`${start}'over' }`);
});

it('names the key, the slot and the fence of a scheduled run', async () => {
  const schedule = holdfast.schedule('s', { atLeast: 0 });
  let run: unknown;
  await schedule.runOnce(
    (one) => {
      run = one;
      expect(flat(one)).toMatch(
        /^ScheduledRun \{ key: 's', slot: 'a', fence: \d+, held: true, remaining: [\d.]+ \}$/,
      );
    },
    { slot: 'a' },
  );
  expect(flat(run)).toMatch(/held: false, remaining: 0 \}$/);
});

it('names the label, the store and the prefix of an instance, and no password', async () => {
  const redis = new Redis({ lazyConnect: true, password: 'hidden' });
  const url = 'redis://user:hidden@127.0.0.1:1';
  for (const [client, store] of [
    [redis, 'ioredis'],
    [createClient({ url }), 'node-redis'],
  ] as const) {
    const one = new Holdfast(client, { label: 'shop', prefix: 'p:' });
    const start = `Holdfast { id: '${one.id}', label: 'shop', `;
    expect(flat(one)).toBe(`${start}store: '${store}', prefix: 'p:' }`);
    const id = JSON.stringify(one.id);
    const text = `Holdfast {"id":${id},"label":"shop","store":"${store}","prefix":"p:"}`;
    expect(String(one as unknown)).toBe(text);
    await one.close();
  }
});
