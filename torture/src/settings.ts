/** What runner and processes have to agree on. */
import { join } from 'node:path';
import { History } from 'holdfast-checker';
import { monotonic } from 'holdfast-trials/support/overlaps';

/** Leases are short, so that faults of a second outlive them. */
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

/** Keys, and how they are locked; `undefined` is one way or the other. */
export const KEYS: Readonly<Record<string, boolean | undefined>> = {
  'fair 1': true,
  'fair 2': true,
  'default 1': false,
  'default 2': false,
  mixed: undefined,
  forced: undefined,
};

/** The one key whose leases are ended by force now and then. */
export const FORCED = 'forced';

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
