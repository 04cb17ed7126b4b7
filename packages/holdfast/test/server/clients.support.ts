/** The clients that have adapters, opened in each way that the tests need. */
import { type Server, type ServerName, startServer } from 'holdfast-testkit';
import { Redis as Redis6 } from 'ioredis';
import { Redis as Redis5 } from 'ioredis-5';
import { createClient as createClient6 } from 'redis';
import { createClient as createClient5 } from 'redis-5';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { portFor } from '../../src/store/clients/detect.js';
import type { ClientPort } from '../../src/store/clients/port.js';
import type { NodeRedisLike, RedisClient } from '../../src/index.js';

export type Protocol = 2 | 3;

/** Where and how to connect. */
export interface Where {
  host: string;
  port: number;
  protocol: Protocol;
  ca?: string | undefined;
  username?: string;
  password?: string;
  db?: number;
  keyPrefix?: string;
  name?: string;
  /** Options for the client itself. */
  extra?: object;
  /** Gives up at the first failure, and does not reconnect. */
  impatient?: boolean;
  /** Returns before the client is connected. */
  offline?: boolean;
}

/** A user's client, and the port on it. */
export interface Opened {
  readonly client: RedisClient;
  readonly port: ClientPort;
  readonly close: () => Promise<void>;
}

export interface Adapter {
  readonly name: string;
  readonly protocols: readonly Protocol[];
  readonly keyPrefix: boolean;
  /** Options that would change the effect of a command or the form of its reply. */
  readonly quirks: readonly (readonly [name: string, extra: object])[];
  open(where: Where): Promise<Opened>;
  /** The source of a program that runs `body` with a client of this kind, and ends. */
  program(where: Where, body: string): string;
}

type Ioredis = Redis5 | Redis6;

/** The package of a client: `ioredis 5` is `ioredis-5`, `ioredis 6` is `ioredis`. */
const packageOf = (name: string): string => name.replace(' 5', '-5').replace(' 6', '');

const open = new Set<Opened>();

/** Closes what a test has left open. */
export async function closeAll(): Promise<void> {
  await Promise.all([...open].map((one) => one.close()));
}

export function opened(client: RedisClient, close: () => Promise<unknown>): Opened {
  const one: Opened = {
    client,
    port: portFor(client),
    close: async () => {
      open.delete(one);
      await close().catch(() => undefined);
    },
  };
  open.add(one);
  return one;
}

function ioredisOptions(where: Where): object {
  const { host, port, username, password, db, keyPrefix, name, protocol, ca, impatient } = where;
  return {
    host,
    port,
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    ...(db === undefined ? {} : { db }),
    ...(keyPrefix === undefined ? {} : { keyPrefix }),
    ...(protocol === 3 ? { protocol } : {}),
    ...(name === undefined ? {} : { connectionName: name }),
    ...(ca === undefined ? {} : { tls: { ca } }),
    ...(impatient === true
      ? { retryStrategy: null, maxRetriesPerRequest: 0 }
      : { retryStrategy: () => 10 }),
    lazyConnect: true,
    ...where.extra,
  };
}

function ioredis(
  name: string,
  protocols: Protocol[],
  create: (options: object) => Ioredis,
): Adapter {
  const wire = (options: object): object =>
    // node-redis 6 uses RESP3 by default; node-redis 5 does not know the option
    protocols.length === 1 || 'protocol' in options ? options : { ...options, protocol: 2 };
  return {
    name,
    protocols,
    keyPrefix: true,
    quirks: [
      ['automatic pipelining', { enableAutoPipelining: true }],
      ['no offline queue', { enableOfflineQueue: false }],
      ['friendly stacks', { showFriendlyErrorStack: true }],
      ...(protocols.includes(3) ? [] : [['no ready check', { enableReadyCheck: false }] as const]),
    ],
    async open(where) {
      const client = create(wire(ioredisOptions(where)));
      client.on('error', () => undefined);
      if (where.offline !== true) await client.connect();
      return opened(client, async () => client.disconnect());
    },
    program(where, body) {
      const options = JSON.stringify(wire(ioredisOptions(where)));
      return [
        `const { Redis } = require('${packageOf(name)}');`,
        `const client = new Redis(${options});`,
        "client.on('error', () => undefined);",
        body,
        'client.disconnect();',
      ].join('\n');
    },
  };
}

interface NodeRedis extends NodeRedisLike {
  on(event: 'error', listener: () => void): unknown;
  destroy(): void;
}

/**
 * Creates clients of few classes. `createClient` defines a class with a method for each command
 * whenever its options differ from the last ones, and that takes longer than most tests. A
 * duplicate of a client has the client's class; its options are added to those of the client. As
 * from `createClient`, the result is an object that inherits from an instance.
 */
function duplicates(create: (options: object) => unknown): (options: NodeRedisGiven) => NodeRedis {
  const first = new Map<Protocol, { duplicate(options: object): object }>();
  return (options) => {
    const { RESP } = options;
    const one = first.get(RESP) ?? (create({ RESP }) as { duplicate(options: object): object });
    first.set(RESP, one);
    return Object.create(one.duplicate(options)) as NodeRedis;
  };
}

interface NodeRedisGiven {
  readonly RESP: Protocol;
  readonly [option: string]: unknown;
}

function nodeRedisOptions(where: Where): NodeRedisGiven {
  const { host, port, ca, username, password, db, keyPrefix, name, protocol } = where;
  return {
    socket: {
      host,
      port,
      ...(ca === undefined ? {} : { tls: true, ca }),
      reconnectStrategy: where.impatient === true ? false : 10,
    },
    RESP: protocol,
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    ...(db === undefined ? {} : { database: db }),
    ...(keyPrefix === undefined ? {} : { keyPrefix }),
    ...(name === undefined ? {} : { name }),
    ...where.extra,
  };
}

function nodeRedis(
  name: string,
  keyPrefix: boolean,
  create: (options: NodeRedisGiven) => NodeRedis,
): Adapter {
  // changes the types of RESP numbers (`:` is 58) and RESP strings (`$` is 36)
  const typeMapping = { 58: String, 36: Buffer, 43: Buffer };
  return {
    name,
    protocols: [2, 3],
    keyPrefix,
    quirks: [
      ['a type mapping', { commandOptions: { typeMapping } }],
      ['asap', { commandOptions: { asap: true } }],
      ['a time limit', { commandOptions: { timeout: 60_000 } }],
      ['no offline queue', { disableOfflineQueue: true }],
      ['pings', { pingInterval: 60_000 }],
    ],
    async open(where) {
      const client = create(nodeRedisOptions(where));
      client.on('error', () => undefined);
      const connecting = client.connect();
      if (where.offline === true) connecting.catch(() => undefined);
      else await connecting;
      return opened(client, async () => client.destroy());
    },
    program(where, body) {
      const options = JSON.stringify(nodeRedisOptions(where));
      return [
        `const { createClient } = require('${packageOf(name)}');`,
        `const client = createClient(${options});`,
        "client.on('error', () => undefined);",
        'await client.connect();',
        body,
        'client.destroy();',
      ].join('\n');
    },
  };
}

export const ADAPTERS: readonly Adapter[] = [
  ioredis('ioredis 5', [2], (options) => new Redis5(options)),
  ioredis('ioredis 6', [2, 3], (options) => new Redis6(options)),
  nodeRedis('redis 5', false, duplicates(createClient5)),
  nodeRedis('redis 6', true, duplicates(createClient6)),
];

type Suite = (adapter: Adapter, protocol: Protocol, server: () => Server) => void;

const SERVERS: readonly ServerName[] = ['redis', 'valkey'];

/** `locker` has every right, `clumsy` may not SET, `deaf` may not subscribe. */
export const USERS = [
  'locker on >s3cret! ~* &* +@all',
  'clumsy on >s3cret! ~* &* +@all -set',
  'deaf on >s3cret! ~* resetchannels +@all',
];

// a list computed from the adapters would lack the same entries as the adapters
const COMBINATIONS = [
  'ioredis 5 RESP2',
  'ioredis 6 RESP2',
  'ioredis 6 RESP3',
  'redis 5 RESP2',
  'redis 5 RESP3',
  'redis 6 RESP2',
  'redis 6 RESP3',
].flatMap((client) => [`${client} redis`, `${client} valkey`]);

/** Runs a suite for each client, protocol and server, and checks that none is missing. */
export function matrix(suite: Suite): void {
  const ran: string[] = [];
  describe.each(SERVERS)('%s', (name) => {
    let server: Server;
    beforeAll(async () => {
      server = await startServer({ server: name, tls: true, users: USERS });
    });
    afterAll(() => server.stop());
    for (const adapter of ADAPTERS) {
      for (const protocol of adapter.protocols) {
        describe(`${adapter.name}, RESP${protocol}`, () => {
          ran.push(`${adapter.name} RESP${protocol} ${name}`);
          suite(adapter, protocol, () => server);
        });
      }
    }
  });

  describe('the matrix', () => {
    const missing = (list: string[]): string[] => COMBINATIONS.filter((one) => !list.includes(one));

    it('is complete', () => {
      expect(missing(ran)).toEqual([]);
      expect(ran).toHaveLength(COMBINATIONS.length);
    });

    it('is incomplete without any one of its combinations', () => {
      for (const one of COMBINATIONS) {
        expect(missing(ran.filter((each) => each !== one))).toEqual([one]);
      }
    });
  });
}
