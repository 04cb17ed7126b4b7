/**
 * The backends of the behaviour suites: the memory store, and every client on every server.
 *
 * A backend creates instances as separate processes would: each instance has its own client, and
 * all instances of a backend share one server. A server starts when the first test of a file needs
 * it.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTable, postgres } from 'holdfast-postgres';
import { type ClientName as SqliteClient, sqlite } from 'holdfast-sqlite';
import {
  forgetPace,
  type Postgres,
  type Server,
  type ServerName,
  startPostgres,
  startServer,
} from 'holdfast-testkit';
import { Pool } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe } from 'vitest';
import {
  type EmbeddedStore,
  Holdfast,
  type HoldfastOptions,
  memory,
  quorum,
  type QuorumOptions,
} from '../../src/index.js';
import { MemoryRegister } from '../../src/store/register/memory-register.js';
import { systemClock } from '../../src/base/clock.js';
import { MemoryAcceptor } from '../../src/store/quorum/memory-acceptor.js';
import { QuorumStore } from '../../src/store/quorum/quorum-store.js';
import { RegisterStore } from '../../src/store/register/register-store.js';
import { ADAPTERS, type Opened, type Protocol, type Where } from '../server/clients.support.js';
import { patient, patientStore } from './patient.js';

export type ClientName = 'ioredis-5' | 'ioredis-6' | 'node-redis-5' | 'node-redis-6';

type Embedded = 'memory' | 'register' | 'sqlite';
type StoreName = Embedded | 'quorum' | 'postgres' | 'etcd' | 'cluster' | 'sentinel' | 'redis';

/** A store and a client that a suite runs on. */
export interface Backend {
  readonly name: string;
  readonly store: StoreName;
  readonly client?: ClientName;
  readonly server?: ServerName;
  readonly protocol?: Protocol;
  /** A new instance with a new client, as in another process. */
  make(options?: HoldfastOptions): Promise<Holdfast>;
  /** How a program in another process makes the store: the package, its function, its arguments. */
  program?: () => readonly [name: string, make: string, ...args: unknown[]];
  /** The server, to inspect it and to make it fail. Only for the store `redis`. */
  readonly admin: Server;
  /** Waits until the backend is ready. */
  start(): Promise<void>;
  /** Closes all instances, clients and servers. */
  close(): Promise<void>;
  /** Removes what `start` made. */
  end?(): Promise<void>;
}

/** A suite: a function that defines the tests of one backend. */
export type Suite = (backend: Backend) => void;

/** The default protocol of each client, and the protocols that it supports. */
export const PROTOCOLS: Readonly<Record<ClientName, readonly Protocol[]>> = {
  'ioredis-5': [2],
  'ioredis-6': [3, 2],
  'node-redis-5': [2, 3],
  'node-redis-6': [3, 2],
};

export const CLIENTS: readonly ClientName[] = [
  'ioredis-5',
  'ioredis-6',
  'node-redis-5',
  'node-redis-6',
];

export const SERVERS: readonly ServerName[] = ['redis', 'valkey'];

const servers = new Map<ServerName, Promise<Server>>();

/** The server of this test file. */
export function serverOf(name: ServerName): Promise<Server> {
  let server = servers.get(name);
  if (server === undefined) {
    server = startServer({ server: name });
    servers.set(name, server);
  }
  return server;
}

/** Opens a client of one kind. */
export function openClient(
  client: ClientName,
  where: Partial<Where> & { host: string; port: number },
): Promise<Opened> {
  const name = client.replace('node-', '').replace('-', ' ');
  const adapter = ADAPTERS.find((one) => one.name === name);
  if (adapter === undefined) throw new Error(`no adapter for ${client}`);
  return adapter.open({ protocol: PROTOCOLS[client][0] as Protocol, ...where });
}

/** The created instances and clients, to be closed in the right order. */
export class Made {
  readonly #instances: Holdfast[] = [];
  readonly #clients: Opened[] = [];

  async on(opening: Promise<Opened>, options: HoldfastOptions = {}): Promise<Holdfast> {
    const opened = await opening;
    this.#clients.push(opened);
    return this.add(new Holdfast(opened.client, options));
  }

  /** An instance on a quorum. The servers were just started, so they must not be guarded. */
  async across(
    opening: Promise<Opened[]>,
    options: HoldfastOptions = {},
    settings: QuorumOptions = { durable: true },
  ): Promise<Holdfast> {
    const all = await opening;
    this.#clients.push(...all);
    const clients = all.map(({ client }) => client);
    return this.add(new Holdfast(quorum(clients, settings), options));
  }

  add(instance: Holdfast): Holdfast {
    this.#instances.push(instance);
    return instance;
  }

  async close(): Promise<void> {
    await Promise.all(this.#instances.splice(0).map((one) => one.close({ grace: 0 })));
    await Promise.all(this.#clients.splice(0).map((one) => one.close()));
  }
}

function memoryBackend(): Backend {
  const made = new Made();
  let store: EmbeddedStore = memory();
  return {
    name: 'memory',
    store: 'memory',
    make: async (options = {}) => made.add(new Holdfast(store, patient(options))),
    get admin(): Server {
      throw new Error('memory has no server');
    },
    start: async () => {
      store = memory();
    },
    close: () => made.close(),
  };
}

function registerBackend(): Backend {
  const made = new Made();
  let register = new MemoryRegister();
  return {
    name: 'register in memory',
    store: 'register',
    make: async (options = {}) =>
      made.add(new Holdfast(new RegisterStore(register), patient(options))),
    get admin(): Server {
      throw new Error('a register in memory has no server');
    },
    start: async () => {
      register = new MemoryRegister();
    },
    close: () => made.close(),
  };
}

function quorumBackend(): Backend {
  const made = new Made();
  const servers = (): MemoryAcceptor[] =>
    Array.from({ length: 5 }, (_, at) => new MemoryAcceptor(`${at}`, systemClock, 3_600_000));
  let acceptors = servers();
  const terms = { timeout: 200, guard: 120_000, durable: false };
  return {
    name: 'quorum in memory',
    store: 'quorum',
    make: async (options = {}) =>
      made.add(
        new Holdfast(new QuorumStore({ ...terms, acceptors: () => acceptors }), patient(options)),
      ),
    get admin(): Server {
      throw new Error('a quorum in memory has no server');
    },
    start: async () => {
      acceptors = servers();
    },
    close: () => made.close(),
  };
}

/** The PostgreSQL server of this test file. */
let database: Promise<Postgres> | undefined;

async function startDatabase(): Promise<Postgres> {
  const server = await startPostgres({ settings: { max_connections: '200' } });
  const pool = new Pool(server.connection);
  await createTable(pool);
  await pool.end();
  return server;
}

/** The store on PostgreSQL: each instance has a pool of its own, as in another process. */
function postgresBackend(): Backend {
  const made = new Made();
  const pools: Pool[] = [];
  let running: Postgres | undefined;
  return {
    name: 'postgres',
    store: 'postgres',
    make: async (options = {}) => {
      const pool = new Pool(running?.connection);
      pools.push(pool);
      return made.add(new Holdfast(postgres(pool, patientStore()), patient(options)));
    },
    program: () => ['holdfast-postgres', 'postgres', running?.connection],
    get admin(): Server {
      throw new Error('the suites do not make PostgreSQL fail');
    },
    start: async () => {
      database ??= startDatabase();
      running = await database;
    },
    close: async () => {
      await made.close();
      await Promise.all(pools.splice(0).map((pool) => pool.end()));
    },
  };
}

/** By default the one that the package chooses. */
const sqliteClient = process.env['HOLDFAST_SQLITE_CLIENT'] as SqliteClient | undefined;

/** The store in a file of SQLite: each instance opens it itself, as in another process. */
function sqliteBackend(): Backend {
  const made = new Made();
  let folder = '';
  const file = (): string => join(folder, 'locks.db');
  return {
    name: 'sqlite',
    store: 'sqlite',
    make: async (options = {}) => {
      const store = sqlite(file(), { client: sqliteClient, ...patientStore() });
      return made.add(new Holdfast(store, patient(options)));
    },
    program: () => ['holdfast-sqlite', 'sqlite', file(), { client: sqliteClient }],
    get admin(): Server {
      throw new Error('SQLite has no server');
    },
    start: async () => {
      folder = mkdtempSync(join(tmpdir(), 'holdfast-sqlite-'));
    },
    close: () => made.close(),
    end: async () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** Servers that a test file shares, redis and valkey in turn. */
const members: Promise<Server>[] = [];

/** The first servers of this test file. */
export function membersOf(count: number): Promise<Server[]> {
  while (members.length < count) {
    members.push(startServer({ server: SERVERS[members.length % SERVERS.length] as ServerName }));
  }
  return Promise.all(members.slice(0, count));
}

/** One client for each server, of all kinds in turn. */
export function openClients(
  running: readonly Pick<Server, 'host' | 'port'>[],
  shift = 0,
): Promise<Opened[]> {
  return Promise.all(
    running.map(({ host, port }, at) => {
      return openClient(CLIENTS[(at + shift) % CLIENTS.length] as ClientName, { host, port });
    }),
  );
}

/** On a busy machine, a server of these tests may answer later than within the default. */
const PATIENT: QuorumOptions = { durable: true, serverTimeout: 1000 };

/** The quorum store on several servers, with clients of all kinds. */
export function quorumOf(count: number): Backend {
  const made = new Made();
  let running: Server[] = [];
  let instances = 0;
  return {
    name: `quorum of ${count}`,
    store: 'quorum',
    make: async (options = {}) => {
      instances += 1;
      return made.across(openClients(running, instances), patient(options), PATIENT);
    },
    get admin(): Server {
      throw new Error('a quorum has several servers');
    },
    start: async () => {
      running = await membersOf(count);
    },
    close: () => made.close(),
  };
}

function redisBackend(client: ClientName, server: ServerName, protocol: Protocol): Backend {
  const made = new Made();
  let running: Server | undefined;
  const admin = (): Server => {
    if (running === undefined) throw new Error('the server has not been started');
    return running;
  };
  const wire = PROTOCOLS[client][0] === protocol ? '' : ` RESP${protocol}`;
  return {
    name: `${client}${wire} on ${server}`,
    ...{ store: 'redis', client, server, protocol },
    make: (options) => {
      const { host, port } = admin();
      return made.on(openClient(client, { host, port, protocol }), patient(options));
    },
    get admin() {
      return admin();
    },
    start: async () => {
      running = await serverOf(server);
    },
    close: () => made.close(),
  };
}

const usual = (client: ClientName): Protocol => PROTOCOLS[client][0] as Protocol;

export const MEMORY: Backend = memoryBackend();

/** The register store, on a register in the memory of this process. */
export const REGISTER: Backend = registerBackend();

/** The quorum store, on five acceptors in the memory of this process. */
export const QUORUM: Backend = quorumBackend();

/** The store of holdfast-postgres, with `pg`. */
export const POSTGRES: Backend = postgresBackend();

/** The store of holdfast-sqlite, with the client that it chooses. */
export const SQLITE: Backend = sqliteBackend();

/** Each client on one of the servers. That a client works with both is shown by `COMBINATIONS`. */
export const BACKENDS: readonly Backend[] = [
  MEMORY,
  ...CLIENTS.map((client, at) => {
    return redisBackend(client, at === 0 || at === 3 ? 'redis' : 'valkey', usual(client));
  }),
];

/** Memory, and the newest version of each client: for API that does not depend on the client. */
export const NEWEST_BACKENDS: readonly Backend[] = BACKENDS.filter(({ client = '-6' }) =>
  client.endsWith('-6'),
);

/** Each client on each server, with each version of the protocol that the client supports. */
export const COMBINATIONS: readonly Backend[] = SERVERS.flatMap((server) =>
  CLIENTS.flatMap((client) =>
    PROTOCOLS[client].map((protocol) => redisBackend(client, server, protocol)),
  ),
);

/** Defines a suite for each backend. `matrix.test.ts` checks the names of the tests. */
export function onBackends(name: string, backends: readonly Backend[], suite: Suite): void {
  describe.each(backends.map((backend) => [backend.name, backend] as const))(
    `${name} / %s`,
    (_, backend) => {
      beforeAll(() => backend.start());
      // a file that began in a moment of much load has shorter limits later
      beforeEach(() => forgetPace(20_000));
      afterEach(() => backend.close());
      afterAll(() => backend.end?.());
      suite(backend);
    },
  );
  stopServersAfterwards();
}

/** Ends this file's servers after its last test. */
export function stopServersAfterwards(): void {
  afterAll(async () => {
    for (const server of servers.values()) await (await server).stop();
    servers.clear();
    for (const server of members.splice(0)) await (await server).stop();
    await (await database)?.[Symbol.asyncDispose]();
    database = undefined;
  });
}
