/** Rare sequences: requests that are repeated with other terms, and few leases. See `rare.ts`. */
import type { Acquire, Park, Turn } from '../../src/engine/commands.js';
import { asking } from './crowds.js';
import { literally, type Step } from './traffic.js';

const retention = 86_400_000;
const patience = 1e6;
const one = { key: 'k1', capacity: 1 } as const;
const sole = { kind: 'semaphore', capacity: 1 } as const;
const three = { capacity: 3 } as const;

const ask = (id: string, more: Partial<Acquire> = {}, elapsed?: number): Step =>
  literally(asking(id, more), elapsed);
const inspect = (key: string, limit = 50, elapsed?: number): Step =>
  literally({ op: 'inspect', key, limit }, elapsed);
const force = (id: string): Step => literally({ op: 'forceRelease', key: 'k2', id, retention });
const change = (key: string, from: number, capacity: number, elapsed?: number): Step =>
  literally({ op: 'capacity', key, from, capacity, retention }, elapsed);
const resize = (id: string, weight: number): Step =>
  literally({ op: 'resize', key: 'k2', id, weight, seq: 0, retention });
const signal = (id: string): Step =>
  literally({ op: 'signal', key: 'k1', id, condition: 'c', count: 1, seq: 1, retention });
const park = (id: string, as: string, more: Partial<Park> = {}): Step =>
  literally({
    ...{ op: 'park', key: 'k1', id, as, condition: 'c', want: 'signal', ttl: 1000, claim: 1000 },
    ...{ fair: false, channel: '', maxParked: 100, patience, retention, meta: '', token: '' },
    ...more,
  });
const turn = (id: string, again: string, more: Partial<Turn> = {}): Step =>
  literally({
    ...{ op: 'turn', key: 'k1', id, fence: 0, used: 0, again, ttl: 1000, claim: 1000 },
    ...{ handOffs: 0, channel: '', token: '', waited: 0, tasks: 0, patience, retention, meta: '' },
    ...more,
  });
/** One is parked; it is signalled, and waits for the holder `h`. */
const signalled: readonly Step[] = [ask('a', one), park('a', 'first'), ask('h', one), signal('h')];
const pushed = { channel: 'live-1', token: 't2' } as const;

export const rareRepeats: readonly (readonly [name: string, steps: readonly Step[]])[] = [
  [
    'a waiter of a semaphore that asks again with more tasks',
    [
      ask('a', { ...three, weight: 3 }),
      ask('b', { ...three, tasks: 1 }),
      ask('b', { ...three, tasks: 5 }),
      inspect('k2'),
    ],
  ],
  [
    'a signalled waiter that asks again with another kind',
    [...signalled, ask('first', { ...sole, key: 'k1' }), inspect('k1')],
  ],
  [
    'a parked acquisition that parks again with another channel and token',
    [ask('a', one), park('a', 'p'), park('a', 'p', pushed), inspect('k1')],
  ],
  [
    'a waiter that parks with another channel and token',
    [ask('a', one), ask('b', one), park('a', 'b', pushed), inspect('k1')],
  ],
  [
    'more waiters than an inspection shows, one of them signalled',
    [...signalled, ask('b', one), ask('c', one), inspect('k1', 1)],
  ],
  [
    'a turn behind a signalled waiter that does not claim its lease',
    [
      ...signalled,
      turn('h', 'next', { ...pushed, fair: true, ticket: 7 }),
      { ...park('none', 'p'), elapsed: 1_001_000 },
    ],
  ],
  [
    'a turn to a root with the place of its tasks, and its end',
    [ask('a', one), turn('a', 'b', { ticket: 7 }), turn('b', ''), inspect('k1')],
  ],
  [
    'a forced release of the second hold of an owner',
    [...['a', 'b'].map((id) => ask(id, { owner: 'o' })), force('b'), inspect('k2')],
  ],
  [
    'a forced release of two leases, and a waiter',
    [ask('a', three), ask('b', { ...three, weight: 2 }), ask('c', three), force(''), inspect('k2')],
  ],
  [
    'a turn of the only lease, after a change to a higher capacity',
    [ask('a', sole), change('k2', 1, 4), turn('a', 'b', { key: 'k2' }), inspect('k2')],
  ],
  [
    'a wrong capacity when a lease has ended, and a waiter',
    [ask('a', { ...one, ttl: 1 }), ask('b', one), change('k1', 9, 1, 1500), inspect('k1')],
  ],
  [
    'a higher weight, and the next grant',
    [ask('a'), resize('a', 2), ask('b'), resize('b', 2), ask('c'), inspect('k2')],
  ],
  [
    'a signal when the process of the parked acquisition is silent',
    [
      ask('a', one),
      park('a', 'p.1', { patience: 1 }),
      ask('h', one),
      { ...signal('h'), elapsed: 2000 },
      inspect('k1'),
    ],
  ],
  ['a change to the present weight', [ask('a'), resize('a', 1), inspect('k2')]],
  ['a request when the only lease has ended', [ask('a', { ...one, ttl: 1 }), ask('b', one, 1000)]],
  [
    'an owner whose heavy hold ends unclaimed, beside a light one',
    [
      ask('a', { ...three, ttl: 1 }),
      ask('heavy', { ...three, owner: 'o', weight: 3, ttl: 1, claim: 1 }),
      ask('light', { ...three, owner: 'o' }, 1000),
      ask('next', { ...three, weight: 2 }, 1000),
      inspect('k2'),
    ],
  ],
];
