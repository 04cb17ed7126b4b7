/** What servers did between two moments: commands, processor time, bytes, memory. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createTable } from 'holdfast-postgres';
import { type Server, sleep } from 'holdfast-testkit';
import { Client } from 'pg';
import { readServer } from '../server-readings.js';
import type { Site } from './sites.js';

export interface Reading {
  /** Calls of scripts; transactions of PostgreSQL; requests of etcd. */
  readonly commands: number;
  /** Calls that scripts make; reads and writes of keys of etcd. */
  readonly inner: number;
  /** Processor time of the servers, in µs. */
  readonly cpu: number;
  /** Bytes from the clients, and to them. */
  readonly received: number;
  readonly sent: number;
  /** Bytes between the servers: replication, and the bus of a cluster. */
  readonly between: number;
  /** Messages of the wake channels. */
  readonly messages: number;
  /** Bytes of memory in use; of PostgreSQL those of the table, of SQLite and etcd of the data. */
  readonly memory: number;
  readonly connections: number;
}

const NAMES = [
  ...['commands', 'inner', 'cpu', 'received', 'sent', 'between', 'messages', 'memory'],
  'connections',
] as readonly (keyof Reading)[];

export const NOTHING: Reading = from(() => 0);

export function from(value: (name: keyof Reading) => number): Reading {
  return Object.fromEntries(NAMES.map((name) => [name, value(name)])) as unknown as Reading;
}

export const minus = (a: Reading, b: Reading, times = 1): Reading =>
  from((name) => a[name] - b[name] * times);

const IDLE_MS = 3000;
const MESSAGES = /^cmdstat_s?publish:calls=(\d+)/gm;

async function readOne(server: Server): Promise<Reading> {
  const { calls, scripts, cpu } = await readServer(server);
  const info = String(await server.command('INFO', 'stats', 'memory', 'clients', 'commandstats'));
  const field = (name: string): number =>
    Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1] ?? 0);
  const messages = [...info.matchAll(MESSAGES)].reduce((sum, [, found]) => sum + Number(found), 0);
  // the bytes to replicas are a part of them
  const sent = field('total_net_output_bytes') - field('total_net_repl_output_bytes');
  return {
    ...{ commands: scripts, inner: calls - scripts, cpu, sent, messages },
    received: field('total_net_input_bytes'),
    // a server without persistence writes to its clients, its log, its replicas and the bus only
    between: written(server.pid) - sent,
    memory: field('used_memory'),
    connections: field('connected_clients'),
  };
}

/** The bytes that a process has written; 0 where the system does not tell. */
function written(pid: number): number {
  try {
    return Number(/^wchar: (\d+)/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1] ?? 0);
  } catch {
    return 0;
  }
}

/** The processor time of a process in µs, and of those that it started. */
function cpuWithChildren(pid: number): number {
  const [ns = 0] = readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ').map(Number);
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
  const children = text.split(' ').filter(Boolean).map(Number);
  return ns / 1000 + children.reduce((sum, child) => sum + cpuWithChildren(child), 0);
}

/** The server writes its numbers once in a second. */
const NUMBERS_MS = 1500;

async function readPostgres(client: Client): Promise<Reading> {
  await sleep(NUMBERS_MS);
  const query = `SELECT split_part(pg_read_file('postmaster.pid'), E'\\n', 1) AS pid,
    (SELECT sum(xact_commit) FROM pg_stat_database) AS commits,
    pg_total_relation_size('holdfast_locks') AS size,
    pg_current_wal_insert_lsn() - '0/0' AS wal,
    (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend') AS clients`;
  const { rows } = await client.query<Record<string, string>>(query);
  const [row = {}] = rows;
  return {
    ...NOTHING,
    ...{ commands: Number(row['commits']), cpu: cpuWithChildren(Number(row['pid'])) },
    // what a standby would get
    ...{ between: Number(row['wal']), memory: Number(row['size']) },
    connections: Number(row['clients']),
  };
}

interface File {
  pragma(name: string, options: { readonly simple: true }): unknown;
  close(): void;
}
type FileClass = new (file: string, options: { readonly fileMustExist: true }) => File;

/** What is in the file, also if it is still in its log. There is no server. */
function readFile(path: string): Reading {
  const Database = createRequire(import.meta.url)('better-sqlite3') as FileClass;
  let file: File | undefined;
  try {
    file = new Database(path, { fileMustExist: true });
    const of = (name: string): number => Number(file?.pragma(name, { simple: true }));
    const pages = of('page_count') - of('freelist_count');
    return { ...NOTHING, memory: pages * of('page_size') };
  } catch {
    // no process has made it yet
    return NOTHING;
  } finally {
    file?.close();
  }
}

const REQUESTS = /^grpc_server_handled_total\{[^}]*grpc_service="etcdserverpb.KV"[^}]*\} (\S+)/gm;

async function readEtcd(endpoint: string): Promise<Reading> {
  const text = await (await fetch(`${endpoint}/metrics`)).text();
  const of = (name: string): number =>
    Number(new RegExp(`^${name} (\\S+)`, 'm').exec(text)?.[1] ?? 0);
  const commands = [...text.matchAll(REQUESTS)].reduce((sum, [, found]) => sum + Number(found), 0);
  return {
    ...{ ...NOTHING, commands, cpu: of('process_cpu_seconds_total') * 1e6 },
    // the reads and writes of the transactions
    inner: of('etcd_mvcc_put_total') + of('etcd_mvcc_range_total') + of('etcd_mvcc_delete_total'),
    received: of('etcd_network_client_grpc_received_bytes_total'),
    sent: of('etcd_network_client_grpc_sent_bytes_total'),
    memory: of('etcd_mvcc_db_total_size_in_use_in_bytes'),
  };
}

/** Reads all servers of a site, and knows what they do when nothing is asked of them. */
export class Meter implements AsyncDisposable {
  readonly #site: Site;
  #client: Client | undefined;
  /** What a reading itself costs. */
  #reading: Reading = NOTHING;
  /** In a second. */
  #idle: Reading = NOTHING;

  private constructor(site: Site) {
    this.#site = site;
  }

  static async start(site: Site): Promise<Meter> {
    const meter = new Meter(site);
    const { connection } = site.address;
    if (connection !== undefined) {
      meter.#client = new Client(connection);
      await meter.#client.connect();
      await createTable(meter.#client);
    }
    await meter.rest();
    return meter;
  }

  /**
   * Measures what the servers do at rest, with the connections that they have now. On a busy
   * machine the last commands of a start come late, so it waits for their end.
   * @param most so often it measures at most
   */
  async rest(most = 1): Promise<void> {
    const first = await this.read();
    this.#reading = { ...minus(await this.read(), first), memory: 0, connections: 0 };
    for (let turn = 0; turn < most; turn++) {
      const { change, seconds } = await this.#during(() => sleep(IDLE_MS));
      const memory = 0;
      this.#idle = { ...from((name) => change[name] / seconds), memory, connections: 0 };
      if (change.commands <= 0) return;
    }
  }

  get idle(): Reading {
    return this.#idle;
  }

  /** Without the replicas. */
  readMasters(): Promise<Reading> {
    return this.#read(this.#site.masters);
  }

  async read(): Promise<Reading> {
    if (this.#client !== undefined) return readPostgres(this.#client);
    const { endpoints, file } = this.#site.address;
    if (file !== undefined) return readFile(file);
    if (endpoints !== undefined) return readEtcd(endpoints[0] as string);
    return this.#read(this.#site.servers);
  }

  async #read(servers: readonly Server[]): Promise<Reading> {
    const all = await Promise.all(servers.map(readOne));
    return from((name) => all.reduce((sum, one) => sum + one[name], 0));
  }

  /** What the servers do meanwhile, without what they do at rest. */
  async during<T>(
    work: () => Promise<T>,
  ): Promise<{ result: T; change: Reading; seconds: number }> {
    const { result, change, seconds } = await this.#during(work);
    return { result, seconds, change: minus(change, this.#idle, seconds) };
  }

  async #during<T>(
    work: () => Promise<T>,
  ): Promise<{ result: T; change: Reading; seconds: number }> {
    const before = await this.read();
    const start = performance.now();
    const result = await work();
    const seconds = (performance.now() - start) / 1000;
    return { result, seconds, change: minus(minus(await this.read(), before), this.#reading) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client?.end();
  }
}
