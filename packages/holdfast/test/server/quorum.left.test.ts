/** How a server of a quorum keeps commands for the owner of a promise, and whom it tells. */
import type { Server } from 'holdfast-testkit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { portFor } from '../../src/store/clients/detect.js';
import { RedisAcceptor } from '../../src/store/quorum/redis-acceptor.js';
import { membersOf, openClient, stopServersAfterwards } from '../support/backends.js';
import { freshKey } from '../suites/helpers.js';

let opened: Awaited<ReturnType<typeof openClient>>;
let server: Server;
let acceptor: RedisAcceptor;
beforeAll(async () => {
  [server] = (await membersOf(3)) as [Server];
  opened = await openClient('ioredis-6', server);
  acceptor = new RedisAcceptor(portFor(opened.client), `marker ${freshKey()}`);
  acceptor.boot = (await acceptor.check({ durable: true })).boot;
});
afterAll(() => opened.close());
stopServersAfterwards();

it('the answer to a change names the channels that no client hears', async () => {
  const listener = { message() {}, up() {}, down() {} };
  const opened = await acceptor.subscribe('heard', listener);
  const [ballot, next] = ['1'.padStart(28, '0'), '2'.padStart(28, '0')];
  const messages = ['deaf', 'heard', 'too'].map((channel) => ({ channel, text: 'a message' }));
  const handOver = { channel: 'heir', text: '=' };
  const terms = { now: 0, value: '', keep: 60_000, fence: 0, grows: true, messages, handOver };
  const proposal = { ballot, next, ...terms };
  const key = freshKey();
  expect(await acceptor.accept(key, proposal)).toMatchObject({ deaf: ['heir', 'deaf', 'too'] });
  // a repeated request sends no message
  expect(await acceptor.accept(key, proposal)).toMatchObject({ deaf: undefined });
  await opened.close();
});

it('a text that is left is written without those before it', async () => {
  const key = freshKey();
  const [promised, asked] = ['1'.padStart(28, '0'), '2'.padStart(28, '0')];
  await acceptor.prepare(key, promised, 0, { owner: 'secret channel', yields: 0 });
  const texts = ['first', 'second', 'third'];
  for (const left of texts) {
    const asker = { owner: 'other there', yields: 1000, left };
    expect(await acceptor.prepare(key, asked, 0, asker)).toMatchObject({ kept: true });
  }
  const fields = (): Promise<unknown> => server.command('HMGET', key, 'l1', 'l2', 'l3');
  expect(await fields()).toEqual(texts);
  expect(await acceptor.collect(key, 'channel')).toBe(texts.join('\n'));
  expect(await fields()).toEqual([null, null, null]);
  expect(await acceptor.collect(key, 'channel')).toBe('');
});
