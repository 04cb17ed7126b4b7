/** A server that accepts connections and does not answer: no connection of Holdfast stays open. */
import { paced, type Proxy, type Server, startProxy, startServer, until } from 'holdfast-testkit';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Holdfast } from '../../src/index.js';
import { CLIENTS, Made, openClient } from '../support/backends.js';
import { failure, freshKey, later } from '../suites/helpers.js';

describe.each(CLIENTS)('%s', (client) => {
  const made = new Made();
  let server: Server;
  let proxy: Proxy;
  beforeEach(async () => {
    server = await startServer({ server: 'redis' });
    proxy = await startProxy(server);
  });
  afterEach(async () => {
    server.resume();
    await made.close();
    await proxy.close();
    await server.stop();
  });

  async function open(): Promise<Holdfast> {
    const { host, port } = proxy;
    const limits = { requestTimeout: paced(300), unreachableAfter: 300 };
    const holdfast = await made.on(openClient(client, { host, port }), limits);
    await holdfast.mutex(freshKey()).run(() => undefined);
    return holdfast;
  }

  const onlyTheClient = (): boolean => proxy.connections === 1;

  it('ends each connection that it opened to examine the own one', async () => {
    const holdfast = await open();
    await until(onlyTheClient);
    server.pause();
    const before = proxy.accepted;
    while (proxy.accepted < before + 3) {
      await failure(holdfast.mutex(freshKey()).tryAcquire(), 'HOLDFAST_UNREACHABLE');
    }
    await until(onlyTheClient, { within: paced(10_000) });
  });

  it('ends a wake channel that is not confirmed', async () => {
    const holdfast = await open();
    await until(onlyTheClient);
    server.pause();
    const opens = holdfast.warmUp();
    await failure(opens, 'HOLDFAST_UNREACHABLE');
    expect(proxy.connections).toBeGreaterThan(1);
    // a close would end it too
    await until(onlyTheClient, { within: paced(15_000) });
    await holdfast.close({ grace: 0 });
  });

  // the client of GLIDE ends an attempt by itself
  it.skipIf(client.startsWith('glide'))('a close ends a wake channel that is opening', async () => {
    const { host, port } = proxy;
    const holdfast = await made.on(openClient(client, { host, port }), { requestTimeout: 60_000 });
    await holdfast.mutex(freshKey()).run(() => undefined);
    await until(onlyTheClient);
    server.pause();
    const opens = later(holdfast.warmUp());
    await until(() => proxy.connections === 2);
    const from = performance.now();
    await holdfast.close();
    // a client's own limit is 5 s
    expect(performance.now() - from).toBeLessThan(4000);
    await failure(opens, 'HOLDFAST_CLOSED');
    await until(onlyTheClient, { within: 1000 });
  });
});
