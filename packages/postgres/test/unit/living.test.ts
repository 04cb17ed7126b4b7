/** Which channels the server is asked about. */
import { expect, it } from 'vitest';
import { Living } from '../../src/living.js';

it('asks about a living channel once a second, and about a dead one each time', async () => {
  let now = 5000;
  const asked: string[] = [];
  const dead = new Set(['"b"']);
  const living = new Living(
    async (_, [names = '']) => {
      asked.push(names);
      const all = names.slice(1, -1).split(',');
      return all.map((name) => ({ dead: String(dead.has(name)) }));
    },
    () => now,
  );
  expect(await living.of(['a', 'b', 'c'])).toEqual([true, false, true]);
  now += 999;
  expect(await living.of(['b', 'a'])).toEqual([false, true]);
  now += 1;
  dead.add('"a"');
  expect(await living.of(['a'])).toEqual([false]);
  expect(asked).toEqual(['{"a","b","c"}', '{"b"}', '{"a"}']);
});
