/** A schedule at a round trip of 250 ms: a call that did not get the lock names the active run. */
import { sleep, startProxy, startServer } from 'holdfast-testkit';
import { Redis } from 'ioredis';
import { expect, it } from 'vitest';
import { Holdfast, type RunOnceResult } from '../../src/index.js';

it.each([0, 125, 250, 480])('a call that comes %i ms later', async (gap) => {
  await using server = await startServer({ server: 'redis' });
  await using proxy = await startProxy(server);
  const clients = [0, 1].map(() => new Redis(proxy.port, proxy.host));
  const [one, other] = clients.map((client) => new Holdfast(client)) as [Holdfast, Holdfast];
  await Promise.all([one.ready(), other.ready()]);
  proxy.delayReply(() => true, 250);
  let end = (): void => undefined;
  const work = new Promise<void>((resolve) => {
    end = resolve;
  });
  const run = (holdfast: Holdfast): Promise<RunOnceResult<void>> =>
    holdfast.schedule('job', { atLeast: 10 }).runOnce(() => work, { slot: 's' });
  const runs = [run(one)];
  await sleep(gap);
  runs.push(run(other));
  // of two calls at the same moment, either one may get the lock
  expect(await Promise.race(runs)).toMatchObject({ ran: false, slot: 'running' });
  end();
  expect((await Promise.all(runs)).filter(({ ran }) => ran)).toHaveLength(1);
  await Promise.all([one, other].map((holdfast) => holdfast.close()));
  for (const client of clients) client.disconnect();
});
