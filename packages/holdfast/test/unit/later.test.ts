/** Modules that are loaded at their first use. */
import { expect, it } from 'vitest';
import { Later } from '../../src/later.js';
import { failure } from '../suites/helpers.js';

it('loads a module at its first use, and then has it at once', async () => {
  let loads = 0;
  const later = new Later(async () => ({ loads: (loads += 1) }));
  expect(loads).toBe(0);
  const first = later.get();
  expect(first).toBeInstanceOf(Promise);
  expect(await first).toEqual({ loads: 1 });
  expect(later.get()).toBe(await first);
});

it('reports a failure as a typed error, and loads again', async () => {
  const cause = new Error('no such file');
  const answers = [Promise.reject(cause), Promise.resolve('module')];
  const later = new Later(() => answers.shift() as Promise<string>);
  const error = await failure(later.load(), 'HOLDFAST_UNREACHABLE');
  expect(error.message).toContain(
    'Holdfast: the code of this call was not loaded: no such file. If the files of this program ' +
      'were replaced while it runs, restart it',
  );
  expect(error.cause).toBe(cause);
  expect(await later.get()).toBe('module');
});
