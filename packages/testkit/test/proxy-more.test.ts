import { expect, it } from 'vitest';
import { RawClient, startServer, until } from '../src/index.js';
import { named, proxied } from './proxied.js';

const at = proxied();

it('sends a command twice, and drops the second reply', async () => {
  const rule = at.proxy.duplicate(named('INCR'), 20, { times: 1 });
  expect(await at.client.send('INCR', 'n')).toBe(1);
  expect(await at.client.send('PING')).toBe('PONG');
  await until(async () => (await at.server.command('GET', 'n')) === '2');
  expect(rule.hits).toBe(1);
  expect(await at.client.send('INCR', 'n')).toBe(3);
  expect(at.client.pushes).toEqual([]);
});

it('redirects new connections to another server', async () => {
  await using other = await startServer({ server: 'redis' });
  await other.command('SET', 'name', 'other');
  at.proxy.redirect(other);
  expect(await at.client.send('GET', 'name')).toBe(null);
  const second = await RawClient.connect(at.proxy);
  expect(await second.send('GET', 'name')).toBe('other');
  second.close();
});
