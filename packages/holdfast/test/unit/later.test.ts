/** Modules that are loaded at their first use. */
import { expect, it } from 'vitest';
import { Later } from '../../src/later.js';

it('loads a module at its first use, and then has it at once', async () => {
  let loads = 0;
  const later = new Later(async () => ({ loads: (loads += 1) }));
  expect(loads).toBe(0);
  const first = later.get();
  expect(first).toBeInstanceOf(Promise);
  expect(await first).toEqual({ loads: 1 });
  expect(later.get()).toBe(await first);
});

it('loads again after a failure', async () => {
  const answers = [Promise.reject(new Error('no such file')), Promise.resolve('module')];
  const later = new Later(() => answers.shift() as Promise<string>);
  await expect(later.get()).rejects.toThrow('no such file');
  expect(await later.get()).toBe('module');
});
