/** How many round trips the wake connection takes, and that none remains after `warmUp`. */
import { type Proxy, type Server, startProxy, until } from 'holdfast-testkit';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { CLIENTS, Made, openClient, serverOf, stopServersAfterwards } from '../support/backends.js';
import { freshKey, later } from '../suites/helpers.js';

const made = new Made();
afterEach(() => made.close());
stopServersAfterwards();

describe.each(CLIENTS)('%s', (client) => {
  let server: Server;
  let proxy: Proxy;

  beforeAll(async () => {
    server = await serverOf('redis');
  });
  beforeEach(async () => {
    proxy = await startProxy(server);
  });
  afterEach(() => proxy.close());

  const wordsOf = (link: number): string[] =>
    proxy.log
      .filter((one) => one.link === link)
      .map(({ command }) => `${command[0]}`.toLowerCase());

  it('subscribes without a ready check, in the handshake where possible', async () => {
    const holdfast = await made.on(openClient(client, { host: proxy.host, port: proxy.port }));
    await holdfast.mutex(freshKey()).run(() => undefined);
    proxy.clearLog();
    const links = proxy.accepted;
    const together = client.startsWith('node-redis');
    if (together) proxy.blackhole('replies');
    const warming = later(holdfast.warmUp());
    await until(() => proxy.count('subscribe') === 1);
    expect(wordsOf(links + 1)).not.toContain('info');
    if (together) proxy.heal();
    else await warming;
  });

  it('is open before the first wait after warmUp', async () => {
    const one = await made.on(openClient(client, { host: server.host, port: server.port }));
    const holdfast = await made.on(openClient(client, { host: proxy.host, port: proxy.port }));
    await holdfast.warmUp();
    const links = proxy.accepted;
    const key = freshKey();
    const lease = await one.mutex(key).acquire();
    proxy.clearLog();
    const waiting = holdfast.mutex(key).acquire();
    await until(async () => (await one.inspect(key))?.waiterCount === 1);
    await lease.release();
    expect((await waiting).held).toBe(true);
    expect(proxy.accepted).toBe(links);
    const asked = proxy.log.filter(({ command }) => command.some((word) => word.includes(key)));
    expect(asked[0]?.command.some((word) => word.includes('holdfast:wake:'))).toBe(true);
  });
});
