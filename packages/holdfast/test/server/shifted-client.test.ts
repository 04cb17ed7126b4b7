/**
 * A client that gives replies to the wrong commands: node-redis 5.12.1 does so after a reset of its
 * connection while its process is busy. `children/shifted.mjs` has the work.
 */
import { paced, spawnWorker, startProxy, startServer } from 'holdfast-testkit';
import { expect, it } from 'vitest';
import { freshKey } from '../suites/helpers.js';

/** About one reset in six shifts the replies: with so many, a miss is less likely than 1 in 10⁹. */
const ROUNDS = 120;

const TIMEOUT = { timeout: paced(120_000) };

it('no reply of a client out of step is believed, and the client is named', TIMEOUT, async () => {
  await using server = await startServer({ server: 'redis' });
  await using proxy = await startProxy(server);
  const setting = {
    proxy: proxy.port,
    server: server.port,
    prefix: freshKey(),
    rounds: ROUNDS,
    limit: paced(150),
  };
  await using worker = spawnWorker(new URL('../children/shifted.mjs', import.meta.url), {
    args: [JSON.stringify(setting)],
  });
  const resets = (async () => {
    for (;;) {
      await worker.next('busy', { within: paced(90_000) });
      proxy.reset();
    }
  })().catch(() => undefined);
  const done = await worker.next('done', { within: paced(90_000) });
  // the control: the client was out of step in the eyes of the program
  expect(done).toMatchObject({ shifted: true });
  expect(done['violations']).toEqual([]);
  const text = expect.stringContaining('node-redis gave this command the reply to another one');
  expect(done['failures']).toContainEqual(text);
  expect(done['warnings']).toContainEqual(expect.stringMatching(/^HOLDFAST_OUT_OF_STEP: /));
  worker.kill();
  await resets;
});
