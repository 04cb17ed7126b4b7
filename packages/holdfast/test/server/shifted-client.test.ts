/**
 * A client that gives replies to the wrong commands: node-redis 5.12.1 does so after a reset of its
 * connection while its process is busy. `children/shifted.mjs` has the work.
 */
import { type Message, paced, spawnWorker, startProxy, startServer } from 'holdfast-testkit';
import { Redis } from 'ioredis';
import { expect, it } from 'vitest';
import { Holdfast } from '../../src/index.js';
import { failure, freshKey } from '../suites/helpers.js';
import { untilShown } from '../support/until-shown.js';

/** About one reset in six shifts the replies: with so many, a miss is less likely than 1 in 10⁹. */
const ROUNDS = 120;

const TIMEOUT = { timeout: paced(240_000) };

/** One client that gets out of step. Resolves to what its program saw of the library. */
async function outOfStep(): Promise<Message> {
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
  worker.kill();
  await resets;
  return done;
}

it('no reply of a client out of step is believed, and the client is named', TIMEOUT, async () => {
  // in some runs only commands of the program get wrong replies
  await untilShown(['failure', 'warning'], async () => {
    const done = await outOfStep();
    // the control: the client was out of step in the eyes of the program
    expect(done).toMatchObject({ shifted: true });
    expect(done['violations']).toEqual([]);
    const [failures, warnings] = [done['failures'] as string[], done['warnings'] as string[]];
    const text = 'node-redis gave this command the reply to another one';
    return [
      ...(failures.some((failure) => failure.includes(text)) ? ['failure'] : []),
      ...(warnings.some((one) => one.startsWith('HOLDFAST_OUT_OF_STEP: ')) ? ['warning'] : []),
    ];
  });
});

/** A client whose commands get the replies to later ones, as a reply was lost. */
async function behind(use: (holdfast: Holdfast) => Promise<void>): Promise<void> {
  await using server = await startServer({ server: 'redis' });
  await using proxy = await startProxy(server);
  const client = new Redis({ port: proxy.port, retryStrategy: () => null });
  client.on('error', () => undefined);
  const holdfast = new Holdfast(client, { requestTimeout: 20_000 });
  expect(await holdfast.list().next()).toEqual({ done: true, value: undefined });
  const rule = proxy.dropReply(([name]) => name === 'get', { times: 1, after: 'continue' });
  client.get('lost').catch(() => undefined);
  await rule.applied();
  // the program's own pages have the right form
  const scans = setInterval(() => void client.scan('0').catch(() => undefined), 1);
  try {
    await use(holdfast);
  } finally {
    clearInterval(scans);
    client.disconnect();
    await holdfast.close({ grace: 0 }).catch(() => undefined);
  }
}

it('list believes no page of SCAN that belongs to another command', () =>
  behind(async (holdfast) => {
    const error = await failure(holdfast.list().next(), 'HOLDFAST_UNREACHABLE');
    expect(error.message).toContain('out of step');
  }));

it('the doctor names a client out of step, and finds nothing else', () =>
  behind(async (holdfast) => {
    const { findings } = await holdfast.doctor();
    expect(findings).toMatchObject([{ code: 'unreachable', severity: 'danger' }]);
    expect(findings[0]?.evidence).toContain('out of step');
  }));
