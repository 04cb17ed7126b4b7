/** The clients that `portFor` accepts, and its errors for all other values. */
import { Redis as Redis6 } from 'ioredis';
import { Cluster as Cluster5, Redis as Redis5 } from 'ioredis-5';
import {
  createCluster as createCluster6,
  createClient as createClient6,
  createClientPool as createClientPool6,
  createSentinel as createSentinel6,
} from 'redis';
import {
  createCluster as createCluster5,
  createClient as createClient5,
  createClientPool as createClientPool5,
  createSentinel as createSentinel5,
} from 'redis-5';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { portFor } from '../../src/store/clients/detect.js';
import { isErrorReply } from '../../src/store/clients/errors.js';
import type { IoredisLike } from '../../src/store/clients/ioredis.js';
import type { NodeRedisLike } from '../../src/store/clients/node-redis.js';

const lazy = { lazyConnect: true };
const node = [{ host: '127.0.0.1', port: 1 }];
const sentinels = { name: 'mymaster', sentinelRootNodes: node };
const repeating = new Cluster5(node, { ...lazy, redisOptions: { reconnectOnError: () => 2 } });
const rootNodes = [{ url: 'redis://127.0.0.1:1' }];

/** A client as its classes create it, in a given state, without a server. */
function inState<T extends object>(client: T, state: object): T {
  return Object.create(client, Object.getOwnPropertyDescriptors(state)) as T;
}

describe('accepted', () => {
  it.each([
    ['ioredis 5', new Redis5(lazy), 'ioredis', ''],
    ['ioredis 6', new Redis6(lazy), 'ioredis', ''],
    ['ioredis 6 with a prefix', new Redis6({ ...lazy, keyPrefix: 'p:' }), 'ioredis', 'p:'],
    [
      'ioredis 6 with a binary prefix',
      new Redis6({ ...lazy, keyPrefix: Buffer.from('ä:') as unknown as string }),
      'ioredis',
      'ä:',
    ],
    ['ioredis 5 with Sentinel', new Redis5({ ...lazy, name: 'm', sentinels: node }), 'ioredis', ''],
    ['a subclass', new (class Mine extends Redis6 {})(lazy), 'ioredis', ''],
    ['redis 5', createClient5(), 'node-redis', ''],
    ['redis 6', createClient6(), 'node-redis', ''],
    ['redis 6 with a prefix', createClient6({ keyPrefix: 'p:' }), 'node-redis', 'p:'],
    ['redis 6 with options', createClient6().withCommandOptions({}), 'node-redis', ''],
    ['redis 5 with Sentinel', createSentinel5(sentinels), 'node-redis', ''],
    [
      'redis 6 with Sentinel and a prefix',
      createSentinel6({ ...sentinels, keyPrefix: 'p:' }),
      'node-redis',
      'p:',
    ],
    ['a duplicate', createClient5().duplicate(), 'node-redis', ''],
    ['a cluster of ioredis 5', new Cluster5(node, lazy), 'ioredis', ''],
    [
      'a cluster of ioredis 6',
      new Redis6.Cluster(node, { ...lazy, keyPrefix: 'p:' }),
      'ioredis',
      'p:',
    ],
    ['a cluster of redis 5', createCluster5({ rootNodes }), 'node-redis', ''],
    ['a cluster of redis 6', createCluster6({ rootNodes, keyPrefix: 'p:' }), 'node-redis', 'p:'],
    ['redis 5, subscribed, RESP3', inState(createClient5({ RESP: 3 }), on()), 'node-redis', ''],
    ['redis 6, subscribed', inState(createClient6(), on()), 'node-redis', ''],
  ])('%s', (_, client, name, keyPrefix) => {
    const port = portFor(client);
    expect(port.name).toBe(name);
    expect(port.keyPrefix).toBe(keyPrefix);
  });

  it('the types of the clients', () => {
    expectTypeOf<Redis5>().toExtend<IoredisLike>();
    expectTypeOf<Redis6>().toExtend<IoredisLike>();
    expectTypeOf<ReturnType<typeof createClient5>>().toExtend<NodeRedisLike>();
    expectTypeOf<ReturnType<typeof createClient6>>().toExtend<NodeRedisLike>();
    expectTypeOf<Redis6>().not.toExtend<NodeRedisLike>();
    expectTypeOf<ReturnType<typeof createClient6>>().not.toExtend<IoredisLike>();
  });
});

function on(): object {
  return { isPubSubActive: true };
}

describe('refused', () => {
  it.each<[string, unknown, RegExp]>([
    ['nothing', undefined, /it is undefined\. Pass a client/],
    ['null', null, /it is null\./],
    ['a number', 6379, /it is 6379\./],
    ['a URL', 'redis://:secret@localhost', /it is a string \(a URL\?\)\./],
    ['options', { host: 'localhost', password: 'secret' }, /it is a plain object\./],
    ['an array', [], /it is an array\./],
    ['something else', new Map(), /it is an object of class Map\./],
    ['an object without a class', Object.create(null), /it is a plain object\./],
    ['a class', Redis6, /it is the function or class Redis, not a client\./],
    ['a promise', Promise.resolve(createClient6()), /it is a promise\. Await it first\./],
    ['a pool of redis 5', createClientPool5(), /pool of node-redis/],
    ['a pool of redis 6', createClientPool6(), /pool of node-redis/],
    ['redis 5, legacy', createClient5().legacy(), /legacy interface/],
    ['redis 6, legacy', createClient6().legacy(), /legacy interface/],
    ['a pipeline of ioredis 5', new Redis5(lazy).pipeline(), /a pipeline or transaction/],
    ['a pipeline of ioredis 6', new Redis6(lazy).pipeline(), /a pipeline or transaction/],
    ['a transaction of redis', createClient6().multi(), /a pipeline or transaction/],
    ['redis 4', { ...methods(), executeIsolated: () => undefined }, /before version 5/],
    ['redis 3', { internal_send_command: () => undefined }, /before version 5/],
    ['ioredis, subscribed', inState(new Redis5(lazy), { mode: 'subscriber' }), /subscriber mode/],
    ['ioredis that repeats NOSCRIPT', new Redis6({ ...lazy, reconnectOnError: () => 2 }), /2 for/],
    ['a cluster that repeats NOSCRIPT', repeating, /reconnectOnError returns 2 for NOSCRIPT/],
    ['a cluster with an empty tag', new Cluster5(node, { ...lazy, keyPrefix: '{}' }), /empty tag/],
    ['ioredis, monitoring', inState(new Redis6(lazy), { mode: 'monitor' }), /in monitor mode/],
    ['redis 5, subscribed', inState(createClient5(), on()), /subscriber mode, .*duplicate\(\)/],
    ['redis 6, subscribed, RESP2', inState(createClient6({ RESP: 2 }), on()), /subscriber mode/],
  ])('%s', (_, client, message) => {
    expect(() => portFor(client)).toThrow(TypeError);
    expect(() => portFor(client)).toThrow(message);
    expect(() => portFor(client)).toThrow(/^This client cannot be used: /);
    expect(() => portFor(client)).not.toThrow(/secret/);
  });
});

function methods(): object {
  const method = (): undefined => undefined;
  return { sendCommand: method, duplicate: method, connect: method };
}

describe('recognises an error as a reply', () => {
  class ErrorReply extends Error {}
  class SimpleError extends ErrorReply {}
  class a extends Error {}
  const named = (name: string, message: string, more: object = {}): Error =>
    Object.assign(new Error(message), { name }, more);

  it.each<[boolean, unknown]>([
    [true, new SimpleError('NOSCRIPT No matching script.')],
    [true, new ErrorReply('something in lower case')],
    [true, named('ReplyError', 'ERR wrong', { command: { name: 'evalsha', args: [] } })],
    // A bundler shortened the class names.
    [true, new a('NOSCRIPT No matching script.')],
    [true, named('b', 'READONLY You can’t write', { command: { name: 'evalsha' } })],
    // Replies to the client's own handshake.
    [false, named('ReplyError', 'ERR wrong', { command: { name: 'auth', args: [] } })],
    [false, named('ReplyError', 'LOADING', { command: { name: 'info', args: [] } })],
    [false, new SimpleError('WRONGPASS invalid username-password pair')],
    [false, new SimpleError('NOPROTO unsupported protocol version')],
    [false, new SimpleError('ERR max number of clients reached')],
    // Failures of the clients and of the operating system.
    [false, new Error('Command timed out')],
    [false, new Error('Connection is closed.')],
    [false, named('MaxRetriesPerRequestError', 'Reached the max retries per request limit')],
    [false, named('AbortError', 'Command aborted due to connection close')],
    [false, new a('Socket closed unexpectedly')],
    [false, new a('The client is closed')],
    [false, new a('')],
    [false, named('Error', 'connect ECONNREFUSED 127.0.0.1:1', { code: 'ECONNREFUSED' })],
    [false, named('Error', 'CERT_HAS_EXPIRED', { code: 'CERT_HAS_EXPIRED' })],
    [false, 'NOSCRIPT'],
    [false, undefined],
    [false, null],
    [false, Object.create(null)],
  ])('%s: %s', (expected, error) => {
    expect(isErrorReply(error)).toBe(expected);
  });
});

describe('the subscriber connection of node-redis', () => {
  const listener = { message: () => undefined, up: () => undefined, down: () => undefined };

  it.each([
    [{}, undefined],
    [{ pingInterval: 70 }, 70],
    [{ socket: { socketTimeout: 0 } }, undefined],
    // An idle connection would be considered dead.
    [{ socket: { socketTimeout: 1001 } }, 501],
    [{ socket: { socketTimeout: 1000 }, pingInterval: 0 }, 500],
    [{ socket: { socketTimeout: 1000 }, pingInterval: 700 }, 500],
    [{ socket: { socketTimeout: 1000 }, pingInterval: 70 }, 70],
  ])('pings often enough: %o', async (options, interval) => {
    const seen: { pingInterval?: number }[] = [];
    const duplicate = (overrides: object): never => {
      seen.push(overrides);
      throw new Error('no connection here');
    };
    const port = portFor(inState(createClient6(options), { duplicate }));
    await expect(port.subscribe('c', listener)).rejects.toThrow('no connection here');
    expect(seen.map((one) => one.pingInterval)).toEqual([interval]);
  });
});

describe('a client that throws synchronously', () => {
  const call = { sha: 'x', keys: ['k'], args: [] };
  const broken = (): never => {
    throw new RangeError('Invalid string length');
  };

  it.each([
    ['ioredis', inState(new Redis6(lazy), { evalsha: broken, eval: broken })],
    ['node-redis', inState(createClient6(), { sendCommand: broken })],
  ])('rejects: %s', async (_, client) => {
    const port = portFor(client);
    const sent = [...port.evalsha([call]), ...port.evalsha([call, call]), port.eval('x', [], [])];
    const results = await Promise.allSettled(sent);
    expect(results.map((one) => one.status)).toEqual(Array(4).fill('rejected'));
  });
});

describe('sends a batch on ioredis in one write', () => {
  const call = { sha: 'x', keys: [], args: [] };

  function logging(send: () => Promise<unknown>): [string[], ReturnType<typeof portFor>] {
    const log: string[] = [];
    const stream = { cork: () => log.push('cork'), uncork: () => log.push('uncork') };
    const evalsha = (): Promise<unknown> => {
      log.push('evalsha');
      return send();
    };
    return [log, portFor(inState(new Redis6(lazy), { stream, evalsha }))];
  }

  it('does nothing for a single call', async () => {
    const [log, port] = logging(() => Promise.resolve('reply'));
    expect(await Promise.all(port.evalsha([call, call]))).toEqual(['reply', 'reply']);
    expect(log).toEqual(['cork', 'evalsha', 'evalsha', 'uncork']);
    expect(await Promise.all(port.evalsha([call]))).toEqual(['reply']);
    expect(log).toEqual(['cork', 'evalsha', 'evalsha', 'uncork', 'evalsha']);
  });

  it('also if the client throws', async () => {
    const [log, port] = logging(() => {
      throw new Error('at once');
    });
    for (const one of port.evalsha([call, call])) await expect(one).rejects.toThrow('at once');
    expect(log).toEqual(['cork', 'evalsha', 'evalsha', 'uncork']);
  });
});
