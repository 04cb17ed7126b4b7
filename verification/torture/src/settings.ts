/** Settings shared by the runner and the processes. */
import { join } from 'node:path';
import type { HoldfastOptions, QuorumOptions } from 'holdfast';
import { History } from 'holdfast-checker';
import { monotonic } from 'holdfast-trials/support/overlaps';

/** What the locks are stored in. */
export const STORES = ['redis', 'valkey', 'postgres', 'sqlite', 'etcd'] as const;
export type StoreName = (typeof STORES)[number];

/** Whether a store is a register. */
export function isRegister(store: StoreName): store is 'postgres' | 'sqlite' | 'etcd' {
  return store === 'postgres' || store === 'sqlite' || store === 'etcd';
}

export type Terms = Record<
  'ttl' | 'claimWindow' | 'requestTimeout' | 'unreachableAfter' | 'retention' | 'linger',
  number
>;

/** Timeouts and windows are short, so that a fault of one second is longer than they are. */
export const OPTIONS: Terms = {
  ttl: 1000,
  claimWindow: 200,
  requestTimeout: 400,
  unreachableAfter: 2500,
  retention: 60_000,
  linger: 500,
};

/**
 * The same on a quorum and on etcd. A request of a quorum takes several rounds, each as long as its
 * slowest server may be silent. A server without its memory does not vote until the retention is
 * over. The first request on etcd waits for a tick of the clocks.
 */
export const QUORUM_OPTIONS: Terms = {
  ttl: 2000,
  claimWindow: 400,
  requestTimeout: 1500,
  unreachableAfter: 5000,
  retention: 3000,
  linger: 500,
};

/** The options of a quorum, in ms. Its servers save every command, or `forget` what they had. */
export function quorumOptions(forget: boolean): QuorumOptions {
  return { serverTimeout: 150, restartGuard: 4000, durable: !forget };
}

/** The options of the instances on so many servers. */
export function termsOf(servers: number): Terms {
  return servers > 1 ? QUORUM_OPTIONS : OPTIONS;
}

/** Options of the instances that inspect locks. They wait longer: the machine may be busy. */
export const OBSERVER: HoldfastOptions = { ...OPTIONS, requestTimeout: 20_000 };

/** Each call draws one of these. The bounds of the checker use the longest. */
export const TTLS: readonly number[] = [500, 1000, 1000, 2000];
export const QUORUM_TTLS: readonly number[] = [1500, 2000, 3000];

export function ttlsOf(servers: number): readonly number[] {
  return servers > 1 ? QUORUM_TTLS : TTLS;
}

/** Each instance draws one of these as its `localHandOffs`. */
export const LOCAL_HAND_OFFS: readonly number[] = [0, 8, 8, 100];

/** Keys of mutexes, and whether they are fair; `undefined`: each call draws the mode. */
export const MUTEXES: Readonly<Record<string, boolean | undefined>> = {
  'fair 1': true,
  'fair 2': true,
  'default 1': false,
  'default 2': false,
  mixed: undefined,
  forced: undefined,
};

/** The only key with forced releases. */
export const FORCED = 'forced';
/** Held by explicit owners in all processes, several times each. */
export const OWNED = 'owned';
export const OWNERS: readonly string[] = ['owner 1', 'owner 2', 'owner 3'];
export const REENTRANT = 'reentrant';
export const RW = 'read-write';
/** The weight of a writer of a read-write lock. */
export const WRITER: number = 2 ** 30;
export const SEMAPHORE = 'permits';
/** Possible capacities of the semaphore. The first is the initial one. */
export const PERMITS: readonly [number, ...number[]] = [3, 2, 4, 6];
/** Keys for `allOf`. Two of them are also locked alone. */
export const ALL_OF: readonly string[] = ['all 1', 'all 2', 'default 2', 'fair 2'];
/** A mutex with a condition. */
export const STOCK = 'stock';
export const CONDITION = 'stocked';
export const LATCH = 'latch';
export const BARRIER = 'barrier';
export const PARTIES = 3;
export const ELECTION = 'election';
export const SCHEDULE = 'schedule';
export const FLIGHT = 'flight';
/** A mutex that transactions guard, on PostgreSQL. */
export const GUARDED = 'guarded';

/** All keys that are locked. */
export const LOCKS: readonly string[] = [
  ...new Set([...Object.keys(MUTEXES), ...ALL_OF]),
  ...[OWNED, REENTRANT, RW, SEMAPHORE, STOCK, ELECTION, SCHEDULE, FLIGHT, GUARDED],
];

/** Faults that can be planted in the processes. The checker must find each. */
export const PLANTED = ['no-renewal', 'release-without-compare'] as const;

export type ClientName =
  | 'ioredis'
  | 'node-redis'
  | 'pg'
  | 'postgres.js'
  | 'better-sqlite3'
  | 'fetch';

/** The clients of a store, by which its processes alternate. */
const CLIENTS: Readonly<Record<StoreName, readonly ClientName[]>> = {
  redis: ['ioredis', 'node-redis'],
  valkey: ['ioredis', 'node-redis'],
  postgres: ['pg', 'postgres.js'],
  // Node 20 has no client of its own
  sqlite: ['better-sqlite3'],
  etcd: ['fetch'],
};

export function clientOf(store: StoreName, index: number): ClientName {
  const clients = CLIENTS[store];
  return clients[index % clients.length] as ClientName;
}

/** The settings of one process. */
export interface WorkerSettings {
  /** Unique in the run: a process that replaces a killed one has another name. */
  readonly name: string;
  readonly store: StoreName;
  /** Of the lock server, or of its members; the path of the file of SQLite. */
  readonly urls: readonly string[];
  /** True if a server of the quorum may lose its memory. */
  readonly forgets: boolean;
  /** Of the server of the protected resource. */
  readonly resourceUrl: string;
  readonly client: ClientName;
  readonly seed: number;
  readonly tasks: number;
  /** The folder of the histories. */
  readonly folder: string;
  readonly fault: string | undefined;
}

/** The history of one process, on the monotonic clock that all of them share. */
export function historyOf(folder: string, process: string): History {
  return new History({ now: monotonic, file: join(folder, `${process}.jsonl`) });
}
