/** When a process looks for old keys, and where it begins. */
import { until } from 'holdfast-testkit';
import { expect, it } from 'vitest';
import type { Gateway } from '../../src/gateway.js';
import { Names, textOf } from '../../src/keys.js';
import { Sweeps } from '../../src/sweeps.js';

/** The first keys of the looks. */
function looking(...numbers: number[]): { sweeps: Sweeps; looks: string[] } {
  const looks: string[] = [];
  const call = async (path: string, { key }: { key: string }): Promise<object> => {
    expect(path).toBe('kv/range');
    looks.push(textOf(key));
    return { body: { header: { revision: '7' } }, time: 1, latest: 1 };
  };
  const gateway = { call } as unknown as Gateway;
  return { sweeps: new Sweeps(gateway, new Names('r/'), () => numbers.shift() ?? 0), looks };
}

it('the first one comes after a random number of new keys, at a random place', async () => {
  const { sweeps, looks } = looking(0.98, 0.5, 0.5);
  sweeps.added('job:1700');
  expect(looks).toEqual([]);
  sweeps.added('job:1700');
  await until(() => looks.length === 1);
  expect(looks).toEqual(['r/k/job:P']);
});

it('the next one goes on from there, and after the last key from the start', async () => {
  const { sweeps, looks } = looking(0.99);
  sweeps.added('a');
  await until(() => looks.length === 1);
  await new Promise(setImmediate);
  for (let added = 0; added < 100; added += 1) sweeps.added('a');
  await until(() => looks.length >= 2);
  expect(looks[1]).toBe('r/k/');
});
