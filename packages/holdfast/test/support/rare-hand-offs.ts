/** Rare sequences: hand-offs, holds of one owner, a clock that steps back. See `rare.ts`. */
import type { Acquire } from '../../src/engine/commands.js';
import { asking } from './crowds.js';
import { literally, type Step } from './traffic.js';

const retention = 86_400_000;
const one = { key: 'k1', capacity: 1 } as const;
const two = { key: 'k2', capacity: 2 } as const;
const several = { key: 'k2', capacity: 4 } as const;

const ask = (id: string, more: Partial<Acquire>, elapsed?: number): Step =>
  literally(asking(id, more), elapsed);
const release = (id: string, key: string, elapsed?: number): Step =>
  literally({ op: 'release', key, id, retention }, elapsed);
const inspect = (key: string, limit = 50): Step => literally({ op: 'inspect', key, limit });
const force = (key: string): Step => literally({ op: 'forceRelease', key, id: '', retention });
const resize = (id: string, weight: number, seq: number): Step =>
  literally({ op: 'resize', key: 'k2', id, weight, seq, retention });

export const rareHandOffs: readonly (readonly [name: string, steps: readonly Step[]])[] = [
  [
    'a forced release of an owner with holds of two processes',
    [
      ...['a', 'b'].map((id) => ask(id, { ...several, owner: 'o', channel: 'live-1' })),
      ask('c', { ...several, owner: 'o', channel: 'live-2' }),
      force('k2'),
    ],
  ],
  [
    'a grant and a new place after the clock stepped back',
    [
      ask('a', one),
      ask('b', { ...one, channel: 'live-1' }, 5000),
      ask('c', { ...one, channel: 'live-1' }, -4000),
      ask('d', { ...one, channel: 'live-1' }),
      release('a', 'k1', -9000),
      inspect('k1'),
    ],
  ],
  [
    'a lease with reserved fences that is released at once',
    [ask('a', { ...one, handOffs: 20 }), release('a', 'k1', 1), ask('b', one, 1)],
  ],
  [
    'a lease whose reserved fences are given back',
    [
      ask('a', { ...one, handOffs: 20 }),
      literally({ op: 'release', key: 'k1', id: 'a', unpassed: true, retention }, 1),
      ask('b', one, 1),
    ],
  ],
  [
    'a fair root behind one of two leases',
    ['a', 'b', 'c'].map((id) => ask(id, { ...two, fair: true, handOffs: 3 })),
  ],
  [
    'a change that does not fit, and its repeat when it would fit',
    [
      ...['a', 'b'].map((id) => ask(id, { ...several, weight: 2 })),
      resize('a', 3, 1),
      release('b', 'k2'),
      resize('a', 3, 1),
      inspect('k2'),
    ],
  ],
  [
    'a hold above the weight of its lease, while permits are free',
    [
      ask('heavy', { ...several, owner: 'o', weight: 2 }),
      ask('light', { ...several, owner: 'o' }),
      resize('light', 3, 1),
      inspect('k2'),
    ],
  ],
  [
    'a waiter of an owner, with others behind it',
    [
      ask('a', one),
      ask('b', { ...one, owner: 'o' }),
      ask('c', one),
      ask('d', { ...one, owner: 'o' }),
      release('a', 'k1'),
      ask('e', { ...one, owner: 'o' }),
      release('b', 'k1'),
      release('c', 'k1'),
      inspect('k1'),
    ],
  ],
  [
    'a parking owner with two holds',
    [
      ...['a', 'b'].map((id) => ask(id, { ...one, owner: 'o' })),
      literally({
        ...{ op: 'park', key: 'k1', id: 'a', as: 'p', condition: 'c', want: 'signal', ttl: 1000 },
        ...{ claim: 1000, fair: false, channel: '', maxParked: 100, patience: 1e6, retention },
        ...{ meta: '', token: '' },
      }),
      inspect('k1'),
    ],
  ],
  [
    'more waiters than an inspection shows',
    [...['a', 'b', 'c'].map((id) => ask(id, one)), inspect('k1', 1)],
  ],
  [
    'a waiter that asks again with the old capacity, after a change of the capacity',
    [
      ask('a', { ...several, weight: 4 }),
      ask('b', several),
      literally({ op: 'capacity', key: 'k2', from: 4, capacity: 5, retention }),
      ask('b', several),
      inspect('k2'),
    ],
  ],
];
