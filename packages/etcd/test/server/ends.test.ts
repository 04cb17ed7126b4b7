/** Programs that end without `close`: their watch keeps no process running. */
import { spawnWorker, until, type Worker } from 'holdfast-testkit';
import { expect, it } from 'vitest';
import { onCluster } from '../support.js';

const test = onCluster();
const script = new URL('../children/ends.mjs', import.meta.url);
const start = (mode: string): Worker =>
  spawnWorker(script, { args: [JSON.stringify(test.cluster.endpoints), mode] });

it('a program that ends with a lock in its hand exits, and its lease ends', async () => {
  await using child = start('held');
  await child.next('listens');
  expect(await child.exited).toEqual({ code: 0, signal: null });
  const lease = await test.instance().mutex('held').acquire();
  await lease.release();
});

it('a program that only waits for a lock keeps running until it has it', async () => {
  const holder = test.instance();
  const lease = await holder.mutex('waited').acquire();
  await using child = start('waited');
  await until(async () => (await holder.inspect('waited'))?.waiterCount === 1);
  for (let looks = 0; looks < 10; looks += 1) await child.next('listens');
  await lease.release();
  await child.next('granted');
});
