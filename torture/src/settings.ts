/** What runner and processes have to agree on. */
import { join } from 'node:path';
import type { HoldfastOptions } from 'holdfast';
import { History } from 'holdfast-checker';
import { monotonic } from 'holdfast-trials/support/overlaps';

/** Requests and windows are short, so that faults of a second outlive them. */
export const OPTIONS: Record<
  'ttl' | 'claimWindow' | 'requestTimeout' | 'unreachableAfter' | 'retention' | 'linger',
  number
> = {
  ttl: 1000,
  claimWindow: 200,
  requestTimeout: 400,
  unreachableAfter: 2500,
  retention: 60_000,
  linger: 500,
};

/** What looks at locks from outside waits longer: the machine may be busy. */
export const OBSERVER: HoldfastOptions = { ...OPTIONS, requestTimeout: 20_000 };

/** Leases are of one of these, by draw; the longest is what bounds are taken from. */
export const TTLS: readonly number[] = [500, 1000, 1000, 2000];

/** How often an instance passes a lease on among its own waiters, by draw. */
export const HAND_OFFS: readonly number[] = [0, 8, 8, 100];

/** Keys of mutexes, and how they are locked; `undefined` is one way or the other. */
export const MUTEXES: Readonly<Record<string, boolean | undefined>> = {
  'fair 1': true,
  'fair 2': true,
  'default 1': false,
  'default 2': false,
  mixed: undefined,
  forced: undefined,
};

/** The one key whose leases are ended by force now and then. */
export const FORCED = 'forced';
/** Held by owners, several times each, in all processes. */
export const OWNED = 'owned';
export const OWNERS: readonly string[] = ['owner 1', 'owner 2', 'owner 3'];
export const REENTRANT = 'reentrant';
export const RW = 'read-write';
/** What a writer holds of a read-write lock. */
export const WRITER: number = 2 ** 30;
export const SEMAPHORE = 'permits';
/** How many permits there may be; at first the first. */
export const PERMITS: readonly [number, ...number[]] = [3, 2, 4, 6];
/** Taken several at a time; two of them are locked alone as well. */
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

/** All that are locked. */
export const LOCKS: readonly string[] = [
  ...new Set([...Object.keys(MUTEXES), ...ALL_OF]),
  ...[OWNED, REENTRANT, RW, SEMAPHORE, STOCK, ELECTION, SCHEDULE, FLIGHT],
];

/** Faults that can be planted, each of which the check has to find. */
export const PLANTED = ['no-renewal', 'release-without-compare'] as const;

export const CLIENTS = ['ioredis', 'node-redis'] as const;
export type ClientName = (typeof CLIENTS)[number];

/** What a process is given. */
export interface Given {
  /** Unique in the run: a process that replaces a killed one has another. */
  readonly name: string;
  /** Where the lock's server is, and where that of the protected resource. */
  readonly url: string;
  readonly resourceUrl: string;
  readonly client: ClientName;
  readonly seed: number;
  readonly tasks: number;
  /** Where histories are kept. */
  readonly folder: string;
  readonly fault: string | undefined;
}

/** The history of one process, on the monotonic clock that all of them share. */
export function historyOf(folder: string, process: string): History {
  return new History({ now: monotonic, file: join(folder, `${process}.jsonl`) });
}
