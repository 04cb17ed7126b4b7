/** The listeners of Holdfast on the program's clients end with the last instance. */
import { errorMonitor, type EventEmitter } from 'node:events';
import { Redis as Redis6 } from 'ioredis';
import { Cluster as Cluster5, Redis as Redis5 } from 'ioredis-5';
import { createClient as createClient6, createCluster as createCluster6 } from 'redis';
import { createClient as createClient5, createSentinel as createSentinel5 } from 'redis-5';
import { expect, it } from 'vitest';
import { Holdfast, type RedisClient } from '../../src/index.js';

const lazy = { lazyConnect: true };
const nodes = [{ host: '127.0.0.1', port: 1 }];

const CLIENTS: readonly (readonly [name: string, make: () => unknown])[] = [
  ['ioredis 5', () => new Redis5(lazy)],
  ['ioredis 6', () => new Redis6(lazy)],
  ['a cluster of ioredis', () => new Cluster5(nodes, lazy)],
  ['redis 5', () => createClient5()],
  ['redis 6', () => createClient6()],
  ['a cluster of redis', () => createCluster6({ rootNodes: [{ url: 'redis://127.0.0.1:1' }] })],
  ['redis with Sentinel', () => createSentinel5({ name: 'm', sentinelRootNodes: nodes })],
];

const listeners = (client: unknown): unknown[] => {
  const emitter = client as EventEmitter;
  return emitter.eventNames().map((event) => [event, emitter.listenerCount(event)]);
};
const watchers = (client: unknown): number => (client as EventEmitter).listenerCount(errorMonitor);

it.each(CLIENTS)('%s has the listeners of before', async (_, make) => {
  const client = make();
  const before = listeners(client);
  const open = (options?: object): Holdfast => new Holdfast(client as RedisClient, options);
  expect(() => open({ ttl: 'x' })).toThrow('ttl');
  expect(listeners(client)).toEqual(before);
  const [one, other] = [open(), open({ prefix: 'p:' })];
  expect(watchers(client)).toBe(1);
  await one.close();
  await one.close();
  expect(watchers(client)).toBe(1);
  await other.close();
  expect(listeners(client)).toEqual(before);
  const again = open();
  expect(watchers(client)).toBe(1);
  await again.close();
  expect(listeners(client)).toEqual(before);
});

it('the clients of a quorum have the listeners of before', async () => {
  const clients = [createClient5(), createClient6(), new Redis6(lazy)];
  const before = clients.map(listeners);
  const holdfast = new Holdfast(clients);
  expect(clients.map(watchers)).toEqual([1, 1, 1]);
  await holdfast.close();
  expect(clients.map(listeners)).toEqual(before);
});
