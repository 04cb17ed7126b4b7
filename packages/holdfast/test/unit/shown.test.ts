/** What `console.log` prints for a lease. */
import { inspect } from 'node:util';
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
