import { expect, it } from 'vitest';
import { RawClient, startServer, until } from '../src/index.js';
import { named, proxied } from './proxied.js';

const at = proxied();

it('sends a command once more, and keeps the second reply to itself', async () => {
  const rule = at.proxy.duplicate(named('INCR'), 20, { times: 1 });
  expect(await at.client.send('INCR', 'n')).toBe(1);
  expect(await at.client.send('PING')).toBe('PONG');
  await until(async () => (await at.server.command('GET', 'n')) === '2');
  expect(rule.hits).toBe(1);
  expect(await at.client.send('INCR', 'n')).toBe(3);
  expect(at.client.pushes).toEqual([]);
});

it('leads new connections to another server', async () => {
  await using other = await startServer({ server: 'redis' });
  await other.command('SET', 'who', 'other');
  at.proxy.lead(other);
  expect(await at.client.send('GET', 'who')).toBe(null);
  const second = await RawClient.connect(at.proxy);
  expect(await second.send('GET', 'who')).toBe('other');
  second.close();
});
