/** Short sequences of renewals that random traffic seldom draws. See `rare.ts`. */
import type { Acquire } from '../../src/engine/commands.js';
import { asking } from './crowds.js';
import { literally, type Step } from './traffic.js';

const retention = 86_400_000;
const one = { key: 'k1', capacity: 1 } as const;

const ask = (id: string, more: Partial<Acquire> = {}): Step => literally(asking(id, more));

/** After `ms`, one command renews the first lease of each key. */
const renewAll = (ms: number, kept = retention, ttl = 1000): Step => ({
  elapsed: ms * 1000,
  command: { op: 'renew', key: 'k1', id: '', ttl, retention: kept },
  id: { who: 'holder', pick: 0 },
  to: { who: 'none', pick: 0 },
  ids: [],
  again: true,
});

/** After `us`, the lease `a` is renewed alone. */
const renew = (us: number, ttl: number, channel?: string): Step =>
  literally(
    { op: 'renew', key: 'k1', id: 'a', ttl, retention, ...(channel !== undefined && { channel }) },
    us,
  );

export const rareRenewals: readonly (readonly [name: string, steps: readonly Step[]])[] = [
  ['the only lease of a mutex: the expiry of the key stays', [ask('a', one), renewAll(10)]],
  [
    'the only lease of a mutex: the expiry of the key moves',
    [ask('a', one), renewAll(10, 4 * retention)],
  ],
  [
    'a key that is kept for 0.4 of the new retention',
    [ask('a', { ...one, retention: 0.4 * retention }), renewAll(10)],
  ],
  [
    'a key that is kept for 0.6 of the new retention',
    [ask('a', { ...one, retention: 0.6 * retention }), renewAll(10)],
  ],
  [
    'the lease of a mutex with a waiter: the expiries of all keys move',
    [ask('a', one), ask('b', one), renewAll(10, 4 * retention)],
  ],
  ['one of two leases: the expiries of the keys stay', [ask('a'), ask('b'), renewAll(10)]],
  ['one of two leases: the expiries of the keys move', [ask('a'), ask('b'), renewAll(10, 1e9)]],
  [
    'the first hold of a lease, which has ended before the second',
    [
      ask('a', { ...one, owner: 'o' }),
      ask('b', { ...one, owner: 'o' }),
      literally({ op: 'release', key: 'k1', id: 'a', retention }),
      renewAll(10),
    ],
  ],
  ['the lease of an owner', [ask('a', { ...one, owner: 'o' }), renewAll(10)]],
  ['a longer lease', [ask('a', { ...one, ttl: 5000 }), renewAll(10)]],
  ['a lease that has ended', [ask('a', one), ask('b', one), renewAll(1000)]],
  ['the only lease of a mutex, which has ended, and others', [ask('a', one), renewAll(1500)]],
  [
    'a waiter of a mutex, and others',
    [
      ...['a', 'b'].map((id) => ask(id, { ...one, retention: 1.5 * retention })),
      { ...renewAll(10), id: { who: 'waiter', pick: 0 } },
    ],
  ],
  [
    'a channel for the second hold of a lease',
    [
      ask('first', { ...one, owner: 'o', channel: 'live-1' }),
      ask('a', { ...one, owner: 'o', channel: 'live-1' }),
      renew(10, 1000, 'live-2'),
    ],
  ],
  ['a channel for the only lease of a mutex', [ask('a', one), renew(10, 1000, 'live-1')]],
  ['the only lease of a mutex, which has ended', [ask('a', { ...one, ttl: 10 }), renew(1e5, 1000)]],
  ['a shorter ttl for the only lease', [ask('a', { ...one, ttl: 5000 }), renew(10, 1000)]],
];
