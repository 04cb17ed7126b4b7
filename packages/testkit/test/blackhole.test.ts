import { expect, it } from 'vitest';
import { until } from '../src/index.js';
import { proxied } from './proxied.js';

const at = proxied();

it('drops bytes in both directions, also of new connections, until it is healed', async () => {
  at.proxy.blackhole();
  const lost = at.client.send('SET', 'k', 1);
  const other = await at.connect();
  const alsoLost = other.send('PING');
  const ends = Promise.allSettled([lost, alsoLost]);
  await until(() => at.proxy.count('set') === 1 && at.proxy.count('ping') === 1);
  expect(await at.server.command('EXISTS', 'k')).toBe(0);
  expect(at.client.closed || other.closed).toBe(false);
  at.proxy.heal();
  expect((await ends).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(await (await at.connect()).send('PING')).toBe('PONG');
});

it('of replies: the server executes the command', async () => {
  at.proxy.blackhole('replies');
  const lost = at.client.send('SET', 'k', 1).catch(() => 'lost');
  // otherwise the reply may reach the proxy after the end of the fault
  await until(() => at.proxy.damaged === 1);
  expect(await at.server.command('EXISTS', 'k')).toBe(1);
  expect(at.client.unanswered).toBe(1);
  at.proxy.heal();
  expect(await lost).toBe('lost');
});

it('of requests: pushes of the server arrive, commands of the client do not', async () => {
  expect(await at.client.send('SUBSCRIBE', 'ch')).toEqual(['subscribe', 'ch', 1]);
  at.proxy.blackhole('requests');
  void at.client.send('UNSUBSCRIBE', 'ch').catch(() => undefined);
  await until(() => at.proxy.count('unsubscribe') === 1);
  expect(await at.server.command('PUBLISH', 'ch', 'x')).toBe(1);
  // the raw client treats any frame as the reply
  await until(() => at.client.unanswered === 0);
});

it('hides that one side closed the connection', async () => {
  const id = Number(await at.client.send('CLIENT', 'ID'));
  const other = await at.connect();
  const its = Number(await other.send('CLIENT', 'ID'));
  at.proxy.blackhole();
  at.client.close();
  await until(() => at.proxy.connections === 1);
  expect(await at.server.command('CLIENT', 'LIST', 'ID', id)).toContain(`id=${id}`);
  await at.server.command('CLIENT', 'KILL', 'ID', its);
  expect(other.closed).toBe(false);
  at.proxy.heal();
  await until(() => other.closed);
  await until(async () => (await at.server.command('CLIENT', 'LIST', 'ID', id)) === '');
});

it('keeps a connection that lost no bytes', async () => {
  at.proxy.blackhole();
  at.proxy.heal();
  expect(await at.client.send('PING')).toBe('PONG');
});
