/** Sequences that random traffic rarely produces: more work than one command may do. */
import { HOLD_LIMIT } from '../../src/engine/limits.js';
import type { Acquire, KeyCommand, Park } from '../../src/engine/commands.js';
import { literally, type Step } from './traffic.js';

const key = 'k2';
const retention = 86_400_000;
/** More than any limit of one command. */
export const MANY = 1300;

/** By default of a semaphore, or of a mutex if the capacity is 1. */
export function asking(id: string, more: Partial<Acquire> = {}): Acquire {
  const kind = more.capacity === 1 ? 'mutex' : 'semaphore';
  return {
    ...{ op: 'acquire', key, id, owner: '', weight: 1, capacity: 2000 },
    ...{ kind, ttl: 1000, claim: 1000 },
    ...{ fair: false, handOffs: 0, channel: '', queue: true, ticket: 0, maxQueue: 1e6 },
    ...{ patience: 1e6, retention, meta: '', token: '' },
    ...more,
  };
}

function many(more: (index: number) => Partial<Acquire>): Step[] {
  return Array.from({ length: MANY }, (_, index) => literally(asking(`m${index}`, more(index))));
}

const poll = (...ids: string[]): KeyCommand => ({ op: 'poll', key, ids, patience: 1e6, retention });
const force: KeyCommand = { op: 'forceRelease', key, id: '', retention };
const release = (id: string): KeyCommand => ({ op: 'release', key, id, retention });
/** A mutex, because conditions need one. */
const one: Partial<Acquire> = { key: 'k1', capacity: 1 };
const parking = (id: string, as: string, more: Partial<Park> = {}): KeyCommand => ({
  ...{ op: 'park', key: 'k1', id, as, condition: 'c', want: 'signal', ttl: 1000, claim: 1000 },
  ...{ fair: false, channel: '', maxParked: 1e6, patience: 1e6, retention },
  ...{ meta: '', token: '' },
  ...more,
});
const manyParked = (channel: string): Step[] =>
  Array.from({ length: MANY }, (_, index) => [
    literally(asking(`m${index}`, one)),
    literally(parking(`m${index}`, `p${index}`, { channel })),
  ]).flat();
const signal = (seq: number, count: number): KeyCommand => ({
  ...{ op: 'signal', key: 'k1', id: 'holder', condition: 'c', count, seq, retention },
});
const look = (...ids: string[]): KeyCommand => ({
  op: 'poll',
  key: 'k1',
  ids,
  patience: 1e6,
  retention,
});
/** Parked with a retention of one second, in a record with a long retention. */
const shortly = (name: string): Step[] => [
  literally(asking(`before ${name}`, one)),
  literally(parking(`before ${name}`, name, { retention: 1000 })),
  literally(look()),
];
const releaseOne = (id: string): KeyCommand => ({
  ...{ op: 'release', key: 'k1', id, retention },
});
const ofOneOwner = (count: number): Step[] =>
  Array.from({ length: count }, (_, index) =>
    literally(asking(`h${index}`, { ...one, owner: 'o' })),
  );
const all = { weight: 2000, owner: '' };

export const crowds: readonly (readonly [name: string, steps: Step[]])[] = [
  [
    'a resize that lets a waiter of the same owner join the lease',
    [
      literally(asking('long', { weight: 1000, ttl: 5000 })),
      literally(asking('short', { weight: 1000, ttl: 10 })),
      literally(asking('own', { owner: 'o' })),
      literally(asking('ahead', { weight: 1000 })),
      literally(asking('joins', { owner: 'o' })),
      literally(release('long')),
      literally({ op: 'resize', key, id: 'own', weight: 1, seq: 0, retention }, 10_000),
    ],
  ],
  [
    'waiters with a ticket, at a store that lost its state and at one that did not',
    [
      literally(asking('a', { capacity: 4, weight: 3, ticket: 7 })),
      literally(asking('b', { capacity: 4, weight: 3, ticket: 8 })),
      literally({ op: 'capacity', key, from: 4, capacity: 2, retention }),
      literally(release('a')),
      literally(asking('b', { capacity: 4, weight: 3, ticket: 8 })),
      literally(asking('c', { capacity: 1, ticket: 9 })),
      literally(asking('d', { capacity: 1 })),
    ],
  ],
  [
    'an owner with the maximum number of holds, and one more',
    [
      ...ofOneOwner(HOLD_LIMIT),
      literally(asking('more', { ...one, owner: 'o' })),
      literally(asking('other', { ...one, channel: 'live-1' })),
      ...[0, 1, HOLD_LIMIT / 2, HOLD_LIMIT - 1].map((index) => literally(releaseOne(`h${index}`))),
      ...['more', 'even more'].map((id) => literally(asking(id, { ...one, owner: 'o' }))),
      literally({ op: 'inspect', key: 'k1', limit: 3 }),
      literally({ op: 'forceRelease', key: 'k1', id: 'h7', retention }),
      literally(look('h7', 'more', 'other')),
    ],
  ],
  [
    'a waiter whose owner reaches the maximum number of holds before it is served',
    [
      literally(asking('holder', one)),
      literally(asking('first', { ...one, owner: 'o' })),
      literally(asking('late', { ...one, owner: 'o', channel: 'live-1' })),
      ...ofOneOwner(HOLD_LIMIT - 1),
      literally(asking('last', { ...one, channel: 'live-2' })),
      literally(releaseOne('holder')),
      literally(look('late', 'first', 'last')),
    ],
  ],
  [
    'more expired holds than one command removes',
    [
      ...many((index) => ({ owner: index < 700 ? 'a' : index < 1250 ? 'b' : '' })),
      literally(asking('next', all), 1_000_000),
      literally(poll('m0', 'm700', 'm1299')),
      literally(poll('m0', 'm700', 'm1299')),
    ],
  ],
  [
    'more expired leases than one command removes',
    [
      ...many(() => ({})),
      literally(poll('m0'), 1_000_000),
      literally(asking('next', all)),
      literally(poll('next')),
    ],
  ],
  [
    'an expired lease that asks again before it is removed',
    [
      ...many((index) => ({ owner: index === MANY - 1 ? 'o' : '' })),
      literally(asking(`m${MANY - 2}`), 1_000_000),
      literally(asking(`m${MANY - 1}`, { owner: 'o' })),
      literally(poll(`m${MANY - 1}`)),
      literally(asking('again', { owner: 'o' })),
      literally(poll('again')),
    ],
  ],
  [
    'an owner whose expired lease is still stored when a new one is granted',
    [
      ...many((index) => ({ owner: index === MANY - 1 ? 'o' : '' })),
      literally(asking('new', { owner: 'o' }), 1_000_000),
      literally(poll()),
      literally(asking('joins', { owner: 'o' })),
    ],
  ],
  [
    'more dead waiters than one command skips',
    [
      literally(asking('holder', all)),
      ...many(() => ({ channel: 'dead-1' })),
      literally(asking('alive', { channel: 'live-1' })),
      literally(release('holder')),
      literally(poll('alive')),
    ],
  ],
  [
    'more waiters than one command serves',
    [
      literally(asking('holder', all)),
      ...many(() => ({ channel: 'live-1' })),
      literally(release('holder')),
      literally(poll('m0', 'm1299')),
    ],
  ],
  [
    'many leases at a capacity that was lowered to 1, and later grants',
    [
      ...many(() => ({})),
      literally({ op: 'capacity', key, from: 2000, capacity: 1, retention }),
      literally(asking('next', { kind: 'semaphore', capacity: 1, handOffs: 3 })),
      literally(poll('next')),
      literally(force),
      literally(poll('next')),
      literally(force),
      literally(poll('next')),
      literally({ op: 'capacity', key, from: 1, capacity: 2, retention }),
      literally(asking('other', { capacity: 2 })),
    ],
  ],
  [
    'an inspection with more leases than it shows, and more expired than one command removes',
    [
      ...many((index) => ({ ttl: index === MANY - 1 ? 5000 : 1000 })),
      literally({ op: 'inspect', key, limit: 3 }),
      literally({ op: 'inspect', key, limit: 3 }, 1_000_000),
    ],
  ],
  [
    'more leases than one command ends by force',
    [...many(() => ({ channel: 'live-1' })), literally(force), literally(force), literally(force)],
  ],
  [
    'more parked waiters than one signal wakes',
    [
      ...manyParked('live-1'),
      literally(asking('holder', one)),
      literally(signal(1, 0)),
      literally(signal(1, 0)),
      literally(signal(2, 0)),
      literally(look('p0', 'p1299')),
    ],
  ],
  [
    'more dead parked waiters than one signal drops',
    [
      ...manyParked('dead-1'),
      literally(asking('last', one)),
      literally(parking('last', 'alive', { channel: 'live-1' })),
      literally(asking('holder', one)),
      literally(signal(1, 1)),
      literally(signal(2, 1)),
    ],
  ],
  [
    'parked waiters, some of which are not polled for their retention',
    [
      ...['a', 'b', 'c', 'd'].flatMap(shortly),
      literally({ ...look('b'), retention: 2000 } as KeyCommand, 600_000),
      literally(look()),
      literally(parking('', 'd', { retention: 1500 })),
      literally(look()),
      literally(look('a', 'b', 'c', 'd'), 500_000),
      literally(look('b', 'd'), 86_400_000_000 / 2),
      literally(look('b', 'd'), 86_400_000_000 / 2 - 1),
    ],
  ],
];
