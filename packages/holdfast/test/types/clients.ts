/**
 * What the constructor accepts and refuses. This file is only compiled, against the built
 * declarations, as a user's program is: a `@ts-expect-error` without an error below it is itself an
 * error.
 */
import { type EmbeddedStore, Holdfast, memory, type RedisClient } from 'holdfast';
import { Cluster as Cluster6, Redis as Redis6 } from 'ioredis';
import { Cluster as Cluster5, Redis as Redis5 } from 'ioredis-5';
import {
  createClient as createClient6,
  createClientPool,
  createCluster,
  createSentinel,
  defineScript,
  type RedisClientType,
} from 'redis';
import { createClient as createClient5, type RedisClientType as RedisClientType5 } from 'redis-5';

const add = defineScript({
  SCRIPT: 'return 1',
  NUMBER_OF_KEYS: 1,
  parseCommand(parser, key: string) {
    parser.pushKey(key);
  },
  transformReply: undefined as unknown as () => number,
});

export const ioredis = [
  new Holdfast(new Redis6()),
  new Holdfast(new Redis6('redis://h', { keyPrefix: 'app:', enableAutoPipelining: true })),
  new Holdfast(new Redis6({ sentinels: [{ host: 'h', port: 1 }], name: 'main' })),
  new Holdfast(new Redis6().duplicate({ db: 1 })),
  new Holdfast(new Redis5()),
  new Holdfast(new Redis5({ host: 'h', lazyConnect: true }).duplicate()),
];

declare const annotated: RedisClientType;
declare const annotated5: RedisClientType5;

export const nodeRedis = [
  new Holdfast(createClient6()),
  new Holdfast(createClient6({ url: 'redis://h', RESP: 2 })),
  new Holdfast(createClient6({ RESP: 3, scripts: { add } })),
  new Holdfast(createClient6({ scripts: { add } }).duplicate({ database: 1 })),
  new Holdfast(createClient6({ modules: {}, functions: {} })),
  new Holdfast(createClient6().withTypeMapping({ 36: Buffer })),
  new Holdfast(await createClient6().connect()),
  new Holdfast(createClient5()),
  new Holdfast(createClient5({ RESP: 3 }).duplicate()),
  new Holdfast(annotated),
  new Holdfast(annotated5),
];

declare const either: RedisClient | EmbeddedStore;

export const stores = [new Holdfast(memory()), new Holdfast(memory(), {}), new Holdfast(either)];

// @ts-expect-error a URL is not a client
export const text = new Holdfast('redis://127.0.0.1');
// @ts-expect-error a client is required
export const nothing = new Holdfast();
// @ts-expect-error a client is required
export const missing = new Holdfast(undefined);
// @ts-expect-error null is not a client
export const none = new Holdfast(null);
// @ts-expect-error a number is not a client
export const port = new Holdfast(6379);
// @ts-expect-error an object of connection settings is not a client
export const settings = new Holdfast({ host: '127.0.0.1', port: 6379 });
// @ts-expect-error a label alone is not a store
export const labelled = new Holdfast({ label: 'memory' });
// @ts-expect-error a Map is not a client
export const map = new Holdfast(new Map<string, string>());
export const several = new Holdfast([new Redis6(), new Redis6(), new Redis6()]);
// @ts-expect-error a store is not given in a list
export const listed = new Holdfast([memory()]);
// @ts-expect-error a function that makes a store is not a store
export const maker = new Holdfast(memory);
// @ts-expect-error a class is not a client
export const clientClass = new Holdfast(Redis6);
// @ts-expect-error a promise must be awaited first
export const promised = new Holdfast(createClient6().connect());
// @ts-expect-error a Holdfast is not a client
export const itself = new Holdfast(new Holdfast(memory()));
export const cluster6 = new Holdfast(new Cluster6([]));
export const cluster5 = new Holdfast(new Cluster5([]));
export const nodeCluster = new Holdfast(createCluster({ rootNodes: [] }));
export const sentinel = new Holdfast(createSentinel({ name: 'main', sentinelRootNodes: [] }));
// @ts-expect-error a pool sends commands in no fixed order
export const pool = new Holdfast(createClientPool());
// @ts-expect-error a pipeline is not a client
export const pipeline = new Holdfast(new Redis6().pipeline());
// @ts-expect-error a transaction is not a client
export const transaction = new Holdfast(createClient6().multi());
// @ts-expect-error the legacy interface of a client is not the client
export const legacy = new Holdfast(createClient6().legacy());
