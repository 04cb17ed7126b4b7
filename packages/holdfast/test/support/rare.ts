/**
 * Short sequences that random traffic seldom draws. The differential test runs each of them, and
 * tries them first on every planted fault.
 */
import type { Acquire, KeyCommand, Park } from '../../src/engine/commands.js';
import { asking } from './crowds.js';
import { rareHandOffs } from './rare-hand-offs.js';
import { rarePauses } from './rare-pauses.js';
import { rarePlain } from './rare-plain.js';
import { rareRenewals } from './rare-renewals.js';
import { rareRepeats } from './rare-repeats.js';
import { literally, type Step } from './traffic.js';

const retention = 86_400_000;
const patience = 1e6;
/** A key of several holders: its capacity is 2000. */
const key = 'k2';

const ask = (id: string, more: Partial<Acquire> = {}): Step => literally(asking(id, more));
const poll = (...ids: string[]): Step => literally({ op: 'poll', key, ids, patience, retention });
const inspect = (of = key, limit = 50): Step => literally({ op: 'inspect', key: of, limit });
const resize = (id: string, weight: number): Step =>
  literally({ op: 'resize', key, id, weight, seq: 0, retention });
const lower = (from: number, capacity: number): Step =>
  literally({ op: 'capacity', key, from, capacity, retention });
const release = (id: string, of = key): Step =>
  literally({ op: 'release', key: of, id, retention });
const turn = (id: string, again: string, fence: number, of = 'k1'): Step =>
  literally({
    ...{ op: 'turn', key: of, id, fence, used: fence, again, ttl: 1000, claim: 1000, handOffs: 1 },
    ...{ channel: '', token: '', waited: 0, tasks: 1, patience, retention, meta: '' },
  });

/** A mutex, because conditions need one. */
const one = { key: 'k1', capacity: 1 } as const;
const sole = { kind: 'semaphore', capacity: 1 } as const;
const few = { capacity: 4 } as const;
const parking = (id: string, as: string, want: Park['want'] = 'signal'): KeyCommand => ({
  ...{ op: 'park', key: 'k1', id, as, condition: 'c', want, ttl: 1000, claim: 1000, fair: false },
  ...{ channel: '', maxParked: 100, patience, retention, meta: '', token: '' },
});
/** Parked as `name`, after a lease of its own. */
const park = (name: string): Step[] => [
  ask(`before ${name}`, one),
  literally(parking(`before ${name}`, name)),
];
/** Two are parked; the first of them is signalled and waits for the holder `h`. */
const signalled: readonly Step[] = [
  ...park('first'),
  ...park('second'),
  ask('h', one),
  literally({ op: 'signal', key: 'k1', id: 'h', condition: 'c', count: 1, seq: 1, retention }),
];
/** The owner `o` holds a lease, and `joins` of the same owner waits behind another. */
const ownerBehind: readonly Step[] = [
  ask('long', { weight: 1000 }),
  ask('short', { weight: 1000 }),
  ask('own', { owner: 'o' }),
  ask('ahead', { weight: 1000 }),
  ask('joins', { owner: 'o' }),
  ask('joins too', { owner: 'o' }),
  release('short'),
];

export const rare: readonly (readonly [name: string, steps: readonly Step[]])[] = [
  [
    'a lower weight for one of several holds',
    [ask('heavy', { owner: 'o', weight: 3 }), ask('light', { owner: 'o' }), resize('heavy', 2)],
  ],
  [
    'a hold that expires beside another one, and a waiter for its permits',
    [
      ask('light', { ...few, owner: 'o', weight: 4 }),
      ask('heavy', { ...few, owner: 'o', weight: 4, ttl: 10 }),
      resize('light', 1),
      ask('waits', few),
      literally({ op: 'renew', key, id: 'light', ttl: 5000, retention }, 5_000),
      { ...inspect(), elapsed: 6_000 },
      poll('light', 'heavy', 'waits'),
      ask('again', { ...few, owner: 'o', ttl: 10 }),
      release('light'),
      inspect(),
      { ...inspect(), elapsed: 20_000 },
      poll('again', 'light'),
      inspect(),
    ],
  ],
  [
    'a dead sharer of a mutex, beside one that renews',
    [
      ask('dead', { ...one, owner: 'o', ttl: 10 }),
      ask('alive', { ...one, owner: 'o' }),
      literally({ op: 'renew', key: 'k1', id: 'dead', ttl: 1, retention }, 5_000),
      { ...inspect('k1'), elapsed: 6_000 },
      literally({ op: 'renew', key: 'k1', id: 'dead', ttl: 1000, retention }),
      literally({ op: 'renew', key: 'k1', id: 'alive', ttl: 2000, retention }),
      inspect('k1'),
      release('alive', 'k1'),
      inspect('k1'),
    ],
  ],
  [
    'a higher capacity for a root of a semaphore that is held',
    [
      ask('p0.a', { ...sole, handOffs: 20 }),
      { ...lower(1, 2), elapsed: 1 },
      ask('p1.a', { capacity: 2 }),
      inspect(),
    ],
  ],
  [
    'a higher capacity for a mutex that is held',
    [
      ask('p0.a', { capacity: 1 }),
      lower(1, 2),
      ask('p1.a', { capacity: 2, queue: false }),
      ask('p1.b', { ...sole, queue: false }),
      lower(1, 1),
      inspect(),
      release('p0.a'),
      ask('p1.b', sole),
      ask('p1.c', { capacity: 1, queue: false }),
      lower(1, 2),
      inspect(),
    ],
  ],
  [
    'a late duplicate of a signal',
    [
      ...signalled,
      ...[2, 1].map((seq) =>
        literally({ op: 'signal', key: 'k1', id: 'h', condition: 'c', count: 1, seq, retention }),
      ),
    ],
  ],
  [
    'conditions of a semaphore of one permit',
    [
      ask('a', { ...sole, key: 'k1' }),
      literally(parking('a', 'b')),
      ...signalled,
      literally({ op: 'capacity', key: 'k1', from: 1, capacity: 2, retention }),
      inspect('k1'),
    ],
  ],
  [
    'a turn whose next root has a lease already',
    [ask('a', { handOffs: 1 }), ask('b', { handOffs: 1 }), turn('a', 'b', 0, key), inspect()],
  ],
  [
    'a hold that gets the weight of its lease',
    [
      ask('heavy', { owner: 'o', weight: 2 }),
      ask('light', { owner: 'o' }),
      resize('light', 2),
      release('heavy'),
      poll('light'),
    ],
  ],
  [
    'a lower weight, which is still above a lowered capacity',
    [
      ask('a', { capacity: 4, weight: 3 }),
      ask('b', { capacity: 4 }),
      lower(4, 2),
      resize('a', 2),
      inspect(),
    ],
  ],
  [
    'waiters above a lowered capacity, and one that fits',
    [
      ask('a', { capacity: 4, weight: 4 }),
      ask('b', { capacity: 4, weight: 3 }),
      ask('c', { capacity: 4 }),
      lower(4, 2),
      release('a'),
      inspect(),
    ],
  ],
  [
    'a waiter above a lowered capacity that asks when its turn comes',
    [
      ask('a', { capacity: 4, weight: 4, ttl: 10 }),
      ask('b', { capacity: 4, weight: 2 }),
      ask('c', { capacity: 4, weight: 3 }),
      lower(4, 2),
      literally(asking('c', { capacity: 4, weight: 3 }), 10_000),
      inspect(),
    ],
  ],
  [
    'a wrong capacity while the permits of an expired lease are free',
    [
      ask('a', { capacity: 4, weight: 4, ttl: 10 }),
      ask('b', { capacity: 4 }),
      literally(asking('c', { capacity: 3 }), 10_000),
      inspect(),
    ],
  ],
  [
    'turns of unknown, queued and parked roots',
    [
      ask('a', { ...one, handOffs: 1 }),
      turn('b', 'c', 1),
      ask('d', { ...one, handOffs: 1 }),
      turn('d', 'e', 1),
      ...park('f'),
      turn('a', 'f', 1),
      inspect('k1'),
    ],
  ],
  [
    'an owner with more holds than an inspection shows, and one above the weight of its lease',
    [
      ...['a', 'b', 'c'].map((id) => ask(id, { owner: 'o' })),
      ask('d', { owner: 'o', weight: 2 }),
      inspect(key, 2),
    ],
  ],
  [
    'an acquisition that joins while the permits of an expired lease are free',
    [
      ask('own', { owner: 'o', ttl: 5000 }),
      ask('short', { weight: 1999, ttl: 10 }),
      ask('waits'),
      literally(asking('joins', { owner: 'o' }), 10_000),
      inspect(),
      poll('waits'),
    ],
  ],
  [
    'an acquisition without a wait, whose owner is next in the queue',
    [
      ask('short', { weight: 2000, ttl: 10 }),
      ask('own', { owner: 'o' }),
      literally(asking('joins', { owner: 'o', queue: false }), 10_000),
      inspect(),
    ],
  ],
  [
    'waiters whose owner has a lease: one polls, one asks again',
    [...ownerBehind, poll('joins'), ask('joins too', { owner: 'o' }), inspect()],
  ],
  [
    'an owner whose first, last and middle holds are released',
    [
      ...['a', 'b', 'c', 'd'].map((id) => ask(id, { owner: 'o' })),
      release('d'),
      ask('e', { owner: 'o' }),
      release('a'),
      release('c'),
      inspect(),
    ],
  ],
  [
    'a waiter whose process becomes silent at that microsecond',
    [
      ask('a.1', { ...one, ttl: 5000 }),
      ask('b.1', { ...one, patience: 100 }),
      ask('c.1', one),
      literally({ op: 'release', key: 'k1', id: 'a.1', retention }, 100_000),
      inspect('k1'),
    ],
  ],
  [
    'a queue that has its longest length',
    [ask('a', one), ask('b', { ...one, maxQueue: 1 }), ask('c', { ...one, maxQueue: 1 })],
  ],
  [
    'dead waiters, of which one has a pattern subscriber',
    [
      ask('a', one),
      ask('b', { ...one, channel: 'dead-1' }),
      ask('c', { ...one, channel: 'gone' }),
      ask('d', { ...one, channel: 'live-1' }),
      release('a', 'k1'),
      inspect('k1'),
    ],
  ],
  [
    'a signalled waiter that gives up',
    [...signalled, literally(parking('', 'first', 'nothing')), inspect('k1')],
  ],
  ['a signalled waiter that is withdrawn', [...signalled, release('first', 'k1'), inspect('k1')]],
  [
    'a signalled waiter that is dead when its turn comes',
    [...signalled, ask('first', { ...one, channel: 'dead-1' }), release('h', 'k1'), inspect('k1')],
  ],
  [
    'a signalled waiter that has its lease and asks again',
    [...signalled, release('h', 'k1'), literally(parking('', 'first')), inspect('k1')],
  ],
  ...rareHandOffs,
  ...rareRenewals,
  ...rarePlain,
  ...rarePauses,
  ...rareRepeats,
];
