/** The library leaves no rejection unhandled while the server is stopped. */
import { type Server, spawnWorker, until } from 'holdfast-testkit';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { CLIENTS, PROTOCOLS, serverOf, stopServersAfterwards } from '../support/backends.js';
import { freshKey } from '../suites/helpers.js';

let server: Server;
beforeAll(async () => {
  server = await serverOf('redis');
});
afterEach(() => server.resume());

describe.each(CLIENTS)('%s', (client) => {
  it.each([
    ['close', 'HOLDFAST_CLOSED'],
    ['release', 'HOLDFAST_LOST'],
  ])('a %s ends a condition that waits for a reply', async (end, code) => {
    const setting = { client, port: server.port, protocol: PROTOCOLS[client][0], key: freshKey() };
    await using worker = spawnWorker(new URL('../children/rejects.mjs', import.meta.url), {
      args: [JSON.stringify(setting)],
      env: { NODE_OPTIONS: '--unhandled-rejections=strict' },
    });
    await worker.next('waits');
    await until(async () => {
      const channels = await server.command('PUBSUB', 'CHANNELS', 'holdfast:wake:*');
      return (channels as unknown[]).length > 0;
    });
    await worker.send({ type: 'go' });
    await worker.next('ready');
    server.pause();
    await worker.send({ type: 'go', end });
    expect(await worker.next('rejected')).toMatchObject({ code });
    await worker.next('ended');
    server.resume();
    await worker.send({ type: 'end' });
    expect(await worker.exited).toEqual({ code: 0, signal: null });
  });
});

stopServersAfterwards();
