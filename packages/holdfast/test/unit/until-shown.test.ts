/** Controls that are repeated until their planted fault shows. */
import { expect, it } from 'vitest';
import { untilShown } from '../support/until-shown.js';

it('a control ends with the run that shows the last kind', async () => {
  const found = [[], ['a'], ['c'], ['a', 'b'], []];
  let runs = 0;
  await untilShown(['a', 'b'], () => Promise.resolve(found[runs++] as string[]));
  expect(runs).toBe(4);
});

it('a fault that never shows fails after 20 runs, and names the kind', async () => {
  let runs = 0;
  const run = (): Promise<string[]> => {
    runs += 1;
    return Promise.resolve(['a']);
  };
  await expect(untilShown(['a', 'b'], run)).rejects.toThrow('did not show: b');
  expect(runs).toBe(20);
});
