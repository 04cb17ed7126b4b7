/** Short sequences for the short paths that random traffic seldom draws. See `rare.ts`. */
import type { Acquire, Turn } from '../../src/engine/commands.js';
import { asking } from './crowds.js';
import { literally, type Step } from './traffic.js';

const retention = 86_400_000;
const one = { key: 'k1', capacity: 1 } as const;
const root = { handOffs: 3, tasks: 2 } as const;

const ask = (id: string, more: Partial<Acquire> = {}): Step =>
  literally(asking(id, { ...one, ...more }), 7);
const release = (id: string): Step => literally({ op: 'release', key: 'k1', id, retention }, 7);
const poll = (id: string, patience = 1e6): Step =>
  literally({ op: 'poll', key: 'k1', ids: [id], patience, retention }, 7);
const park = (id: string, as: string): Step =>
  literally(
    {
      ...{ op: 'park', key: 'k1', id, as, condition: 'c', want: 'signal', ttl: 1000, claim: 1000 },
      ...{ fair: false, channel: '', maxParked: 100, patience: 1e6, retention },
      ...{ meta: '', token: '' },
    },
    7,
  );
/** After 5 ms. */
const look: Step = literally({ op: 'inspect', key: 'k1', limit: 50 }, 5000);
/** `id` ends its root, and `again` is the next root of its process. */
const turn = (id: string, again: string, more: Partial<Turn> = {}): Step =>
  literally(
    {
      ...{ op: 'turn', key: 'k1', id, fence: 0, used: 1, again, ttl: 1000, claim: 1000 },
      ...{ handOffs: 1, channel: '', token: '', waited: 0, tasks: 1, patience: 1e6, retention },
      meta: '',
      ...more,
    },
    7,
  );

/** With an open channel, a fair acquisition reads the fields of its process and its own at once. */
const pushed = { fair: true, channel: 'live-1', token: 't1' } as const;

export const rarePlain: readonly (readonly [name: string, steps: readonly Step[]])[] = [
  [
    'a turn behind a waiter of the same process',
    [
      ask('p0.a', root),
      ask('p0.b', root),
      turn('p0.a', 'p0.c'),
      poll('p0.c'),
      release('p0.b'),
      poll('p0.c'),
    ],
  ],
  [
    'a turn behind a waiter of another process',
    [
      ask('p0.a', root),
      ask('p1.b', root),
      turn('p0.a', 'p0.c'),
      poll('p0.c'),
      release('p1.b'),
      poll('p0.c'),
    ],
  ],
  [
    'a waiter that leaves after the lease has expired',
    [
      ask('p0.a', { ttl: 1 }),
      ask('p1.b'),
      ask('p2.c'),
      literally({ op: 'release', key: 'k1', id: 'p2.c', retention }, 5000),
      poll('p1.b'),
    ],
  ],
  [
    'fair waiters that leave the queue of a held mutex, one after the other',
    [
      ask('p0.a', root),
      ask('p1.b', { fair: true, ...root }),
      ask('p1.c', { fair: true, ...root }),
      release('p1.b'),
      ask('p0.d', { fair: true, ...root }),
      release('p1.c'),
      turn('p0.a', 'p0.e'),
      release('p0.d'),
      poll('p0.e'),
    ],
  ],
  [
    'fair roots of two processes, and a repeat',
    [
      ask('p0.a', { fair: true, ...root }),
      ask('p1.b', { fair: true, ...root }),
      ask('p1.b', { fair: true, ...root }),
      turn('p0.a', 'p0.c', { fair: true }),
      ask('p2.d', root),
      turn('p1.b', 'p1.e', { fair: true }),
      ask('p1.f', { fair: true, ...root }),
      turn('p0.c', 'p0.g', { fair: true }),
      release('p2.d'),
      poll('p1.e'),
    ],
  ],
  [
    'a fair root that is alone, and its next one',
    [
      ask('p0.a', { fair: true, ...root }),
      turn('p0.a', 'p0.b', { fair: true, handOffs: 3 }),
      poll('p0.b'),
    ],
  ],
  [
    'a grant to a process without a deadline',
    [ask('p0.a'), ask('p1.b', { patience: 0 }), release('p0.a'), poll('p1.b', 0)],
  ],
  [
    'fair waiters of a process with a channel, and a repeat',
    [
      ask('p0.a'),
      ask('p1.b', pushed),
      ask('p1.c', pushed),
      ask('p1.b', { ...pushed, token: 't2' }),
      release('p0.a'),
    ],
  ],
  [
    'a turn that names a parked acquisition',
    [ask('p0.a'), park('p0.a', 'p0.b'), ask('p0.c', root), turn('p0.c', 'p0.b'), poll('p0.b')],
  ],
  [
    'grants to several waiters of a process',
    [ask('p0.a'), ask('p1.b'), ask('p1.c'), release('p0.a'), poll('p1.c'), release('p1.b')],
  ],
  [
    'a grant to a fair waiter that names hand-offs',
    [ask('p0.a'), ask('p1.b', { ...root, fair: true }), release('p0.a'), poll('p1.b')],
  ],
  [
    'a grant to a root before a fair waiter',
    [
      ask('p0.a'),
      ask('p1.b', root),
      ask('p2.c', { fair: true }),
      release('p0.a'),
      poll('p1.b'),
      release('p1.b'),
    ],
  ],
  [
    'the holder asks again, for a longer retention',
    [ask('p0.a'), look, ask('p0.a', { retention: 3 * retention })],
  ],
  [
    'a lease that has ended is inspected, with others and alone',
    [ask('p0.a', { ttl: 1 }), look, look],
  ],
  [
    'a lease that has ended asks again, and another one waits',
    [ask('p0.a', { ttl: 1 }), ask('p1.b'), literally(asking('p0.a', one), 5000)],
  ],
  ['the holder of a lease with hand-offs asks again', [ask('p0.a', root), look, ask('p0.a', root)]],
  ['a release of a lease that has ended', [ask('p0.a', { ttl: 1 }), look, release('p0.a')]],
  [
    'a turn that used more fences than were reserved',
    [
      { ...ask('p0.a'), elapsed: 0 },
      { ...turn('p0.a', 'p0.b', { used: 4 }), elapsed: 0 },
    ],
  ],
  [
    'a turn that used some of the reserved fences',
    [
      { ...ask('p0.a', root), elapsed: 0 },
      { ...turn('p0.a', 'p0.b', { used: 2 }), elapsed: 0 },
    ],
  ],
];
