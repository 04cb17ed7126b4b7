/** What is measured: a library on a client, in a mode. Plain data, so a worker gets it as text. */

/** The clients of Holdfast and of the bare lock. */
export const CLIENTS = ['ioredis-5', 'ioredis', 'node-redis-5', 'node-redis'] as const;
export type ClientName = (typeof CLIENTS)[number];

export type Mode = 'default' | 'fair';

export interface Variant {
  readonly name: string;
  /** The name under which the worker finds it. */
  readonly library: string;
  readonly client: ClientName | 'none';
  readonly mode: Mode;
  readonly kind: 'ours' | 'bare' | 'peer' | 'local' | 'planted';
}

export const bare = (client: ClientName): Variant => ({
  ...{ name: `bare ${client}`, library: 'bare', client, mode: 'default', kind: 'bare' },
});

export const ours = (client: ClientName, mode: Mode = 'default'): Variant => ({
  ...{ name: `holdfast ${client}${mode === 'fair' ? ' fair' : ''}`, library: 'holdfast' },
  ...{ client, mode, kind: 'ours' },
});

/** Libraries of the npm registry; each with the client of its documentation. */
export const PEERS: readonly Variant[] = (
  [
    ['redlock', 'ioredis-5'],
    ['redis-semaphore', 'ioredis-5'],
    ['redlock-universal', 'ioredis-5'],
    ['@verrou/core', 'ioredis-5'],
    ['node-redisson', 'ioredis-5'],
    ['simple-redis-mutex', 'node-redis-5'],
    ['@redis-kit/lock', 'node-redis-5'],
  ] as const
).map(([library, client]) => ({
  ...{ name: library, library, client, mode: 'default', kind: 'peer' },
}));

const local = (library: string): Variant => ({
  ...{ name: library, library, client: 'none', mode: 'default', kind: 'local' },
});

/** A lock within one process, from the npm registry. */
export const ASYNC_MUTEX: Variant = local('async-mutex');

/** A chain of promises: a lock without cost, the ceiling of a process. */
export const CHAIN: Variant = local('promise chain');

export const planted = (library: 'cheat' | 'hang'): Variant => ({
  ...{ name: `planted ${library}`, library, client: 'none', mode: 'default', kind: 'planted' },
});
