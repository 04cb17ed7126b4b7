/** The server of a test file, and instances on it as in separate processes. */
import { Holdfast, type HoldfastOptions } from 'holdfast';
import { type Postgres, type PostgresOptions as Settings, startPostgres } from 'holdfast-testkit';
import { Client, Pool } from 'pg';
import { afterAll, afterEach, beforeAll } from 'vitest';
import { createTable, postgres, type PostgresOptions } from '../src/index.js';

/** What a test file uses. */
export interface TestDatabase {
  readonly server: Postgres;
  /** A client that is never in a transaction. */
  readonly watcher: Client;
  /** A pool of a program, which ends after the test. */
  pool(settings?: object): Pool;
  /** A client of a program. */
  client(): Promise<Client>;
  /** An instance with a pool of its own. */
  instance(options?: HoldfastOptions, store?: PostgresOptions): Holdfast;
  /** Closes an instance after the test. */
  add(instance: Holdfast): Holdfast;
  /** Ends something after the test. */
  later(end: () => Promise<unknown>): void;
}

/** Starts a server before the tests of the file, with the table. */
export function onServer(settings: Settings = {}): TestDatabase {
  let server: Postgres;
  let watcher: Client;
  const ends: (() => Promise<unknown>)[] = [];
  const instances: Holdfast[] = [];
  beforeAll(async () => {
    server = await startPostgres(settings);
    watcher = new Client(server.connection);
    // a test may end the server
    watcher.on('error', () => undefined);
    await watcher.connect();
    await createTable(watcher);
  }, 120_000);
  afterEach(async () => {
    await Promise.all(instances.splice(0).map((one) => one.close({ grace: 0 })));
    await Promise.all(ends.splice(0).map((end) => end()));
  });
  afterAll(async () => {
    await watcher?.end().catch(() => undefined);
    await server?.[Symbol.asyncDispose]();
  });
  const database: TestDatabase = {
    get server() {
      return server;
    },
    get watcher() {
      return watcher;
    },
    pool(more = {}) {
      const pool = new Pool({ ...server.connection, ...more });
      pool.on('error', () => undefined);
      ends.push(() => pool.end());
      return pool;
    },
    async client() {
      const client = new Client(server.connection);
      client.on('error', () => undefined);
      await client.connect();
      ends.push(() => client.end());
      return client;
    },
    instance: (options, store) =>
      database.add(new Holdfast(postgres(database.pool(), store), options)),
    add(instance) {
      instances.push(instance);
      return instance;
    },
    later: (end) => void ends.push(end),
  };
  return database;
}
