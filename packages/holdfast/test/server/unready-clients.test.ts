/** Clients that are not connected: the error says why, which server, and what to do. */
import { startServer } from 'holdfast-testkit';
import { Redis } from 'ioredis';
import { createClient } from 'redis';
import { afterEach, describe, expect, it } from 'vitest';
import { Holdfast } from '../../src/index.js';

const SECRET = 'correct-horse';
const SOON = { requestTimeout: 200, unreachableAfter: 200 };
const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

function instance(client: ConstructorParameters<typeof Holdfast>[0], options = SOON): Holdfast {
  const holdfast = new Holdfast(client, options);
  ends.unshift(() => holdfast.close());
  return holdfast;
}

/** A client of ioredis with the listener that its documentation recommends. */
function ioredis(url: string): Redis {
  const client = new Redis(url);
  client.on('error', () => undefined);
  ends.push(() => client.disconnect());
  return client;
}

const created = (url: string) => createClient({ url });
type NodeRedis = ReturnType<typeof created>;

function nodeRedis(url: string): NodeRedis {
  const client = created(url);
  client.on('error', () => undefined);
  ends.push(() => client.isOpen && client.destroy());
  return client;
}

function connecting(url: string): NodeRedis {
  const client = nodeRedis(url);
  client.connect().catch(() => undefined);
  return client;
}

const CLOSED = /not connected: call "await client\.connect\(\)" first/;

describe('a client of node-redis that was never connected', () => {
  it('is reported at once', async () => {
    // with the default limits: ten seconds of attempts, two for each
    const holdfast = instance(nodeRedis('redis://127.0.0.1:1'), {} as typeof SOON);
    const start = performance.now();
    const acquired = holdfast.mutex('k').acquire();
    await expect(acquired).rejects.toMatchObject({
      code: 'HOLDFAST_UNREACHABLE',
      message: expect.stringMatching(CLOSED),
    });
    await expect(holdfast.latch('l', { count: 1 }).countDown()).rejects.toThrow(CLOSED);
    await expect(holdfast.inspect('k')).rejects.toThrow(CLOSED);
    expect(performance.now() - start).toBeLessThan(2000);
  });

  it('works from the moment at which it connects', async () => {
    const client = nodeRedis('redis://127.0.0.1:1');
    const holdfast = instance(client);
    await expect(holdfast.mutex('k').tryAcquire()).rejects.toThrow(CLOSED);
    client.connect().catch(() => undefined);
    await expect(holdfast.mutex('k').tryAcquire()).rejects.toThrow(/ECONNREFUSED/);
  });
});

it('a client of ioredis that was closed is reported at once', async () => {
  const client = ioredis('redis://127.0.0.1:1');
  client.disconnect();
  await new Promise((resolve) => client.once('end', resolve));
  const acquired = instance(client, {} as typeof SOON)
    .mutex('k')
    .acquire();
  await expect(acquired).rejects.toThrow(/closed: quit\(\) or disconnect\(\) was called/);
});

it('a client of ioredis that ended serves the same Holdfast after connect()', async () => {
  await using server = await startServer({ server: 'redis' });
  const client = ioredis(server.url);
  const holdfast = instance(client, {} as typeof SOON);
  await holdfast.mutex('k').run(() => undefined);
  client.disconnect();
  await new Promise((resolve) => client.once('end', resolve));
  await expect(holdfast.mutex('k').tryAcquire()).rejects.toThrow(/or it stopped reconnecting/);
  await client.connect();
  await holdfast.mutex('k').run(() => undefined);
});

describe.each([
  ['ioredis', ioredis],
  ['node-redis', connecting],
])('%s', (_, connect) => {
  it.each([
    ['a refused connection', 'redis://127.0.0.1:1', /127\.0\.0\.1:1\).*ECONNREFUSED/],
    ['an unknown host', 'redis://no-such-host.invalid:7', /no-such-host\.invalid:7\).*getaddrinfo/],
  ])('%s is named, without the password', async (_title, url, expected) => {
    const client = connect(url.replace('//', `//user:${SECRET}@`));
    const holdfast = instance(client);
    // the reason is known when the client has tried again
    await new Promise((resolve) => client.once('error', resolve));
    const list = async (): Promise<void> => {
      for await (const found of holdfast.list()) expect(found).toBeUndefined();
    };
    for (const request of [
      () => holdfast.mutex('k').acquire(),
      () => holdfast.mutex('k').tryAcquire(),
      () => holdfast.inspect('k'),
      () => holdfast.ready(),
      list,
    ]) {
      const error = await request().then(
        () => new Error('it succeeded'),
        (reason: unknown) => reason as Error,
      );
      expect(error).toMatchObject({ code: 'HOLDFAST_UNREACHABLE' });
      expect(error.message).toMatch(expected);
      expect(error.message).not.toContain(SECRET);
    }
  });
});

describe('a client of ioredis without an offline queue', () => {
  const connecting = (url: string): Redis => {
    const client = new Redis(url, { enableOfflineQueue: false });
    client.on('error', () => undefined);
    ends.push(() => client.disconnect());
    return client;
  };

  it('is ready as soon as it has connected', async () => {
    await using server = await startServer({ server: 'redis' });
    const client = connecting(server.url);
    expect(await instance(client, {} as typeof SOON).ready()).toMatchObject({ pushes: true });
    // a control: the client itself rejects what is sent before
    await expect(connecting(server.url).ping()).rejects.toThrow(/isn't writeable/);
  });

  it('is reported within the time limit if it does not connect', async () => {
    const ready = instance(connecting('redis://127.0.0.1:1')).ready();
    await expect(ready).rejects.toMatchObject({ code: 'HOLDFAST_UNREACHABLE' });
  });
});
