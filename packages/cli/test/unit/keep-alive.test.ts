/** Clients that end by themselves. */
import { EventEmitter } from 'node:events';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { keepAlive } from '../../src/keep-alive.js';

class Client extends EventEmitter {
  connect = vi.fn<() => Promise<void>>(async () => undefined);
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

it('a client that ends is connected again, also after a failure', async () => {
  const client = new Client();
  client.connect.mockImplementationOnce(async () => {
    client.emit('end');
    throw new Error('Connection is closed.');
  });
  keepAlive(client);
  client.emit('end');
  await vi.advanceTimersByTimeAsync(1000);
  expect(client.connect).toHaveBeenCalledTimes(2);
});

it.each(['before', 'after'])('a client that is closed %s its end is left', async (when) => {
  const client = new Client();
  const stop = keepAlive(client);
  if (when === 'before') stop();
  client.emit('end');
  stop();
  await vi.advanceTimersByTimeAsync(1000);
  expect(client.connect).not.toHaveBeenCalled();
});

it('ioredis ends, and can be connected again', async () => {
  const client = new Redis({ lazyConnect: true });
  const connect = vi.spyOn(client, 'connect').mockResolvedValue();
  const stop = keepAlive(client);
  client.disconnect();
  expect(client.status).toBe('end');
  await vi.advanceTimersByTimeAsync(1000);
  expect(connect).toHaveBeenCalledTimes(1);
  stop();
});
