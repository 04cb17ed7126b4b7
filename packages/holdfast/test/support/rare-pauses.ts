/** Short sequences for the pauses of idle waiters, see `rare.ts`. */
import type { Acquire, Poll } from '../../src/engine/commands.js';
import { asking } from './crowds.js';
import { literally, type Step } from './traffic.js';

const retention = 86_400_000;
const one = { key: 'k1', capacity: 1 } as const;

const ask = (id: string, more: Partial<Acquire> = {}): Step =>
  literally(asking(id, { ...one, patience: 6000, ...more }), 7);
const release = (id: string, after = 7): Step =>
  literally({ op: 'release', key: 'k1', id, retention }, after);
const pollOf = (ids: readonly string[], period: number): Poll => ({
  ...{ op: 'poll', key: 'k1', ids, patience: 6000, period, retention },
});
const polls = (ids: readonly string[], period = 1000, after = 7): Step =>
  literally(pollOf(ids, period), after);
/** Waiters behind `held`, each of a process of its own, numbered by place. */
const waitersOf = (
  held: Step,
  count: number,
  more: (place: number) => Partial<Acquire> = () => ({}),
): Step[] => [
  held,
  ...Array.from({ length: count }, (_, place) => ask(`p${place}.w`, more(place))),
];
const pushed = { channel: 'live-1', token: 't1' } as const;
const all = (count: number): Step[] =>
  Array.from({ length: count }, (_, place) => polls([`p${place}.w`]));

type Named = readonly [name: string, steps: readonly Step[]];
const pausesBehind = (held: Step): readonly Named[] => {
  const waiters = waitersOf.bind(undefined, held);
  return [
    ['polls of twenty waiters, each of which may pause by its place', [...waiters(20), ...all(20)]],
    [
      'waiters of few processes in front, and of eight with the own one',
      [
        held,
        ...Array.from({ length: 14 }, (_, place) => ask(`p${place % 7}.w${place}`)),
        ask('q.w'),
        polls(['q.w']),
        ask('p6.mid'),
        polls(['p6.mid']),
        ask('p7.w'),
        ask('p6.last'),
        polls(['p6.last']),
        ask('q.last'),
        ask('r.w'),
        polls(['r.w']),
      ],
    ],
    [
      'a pause of the longest length, and a waiter with the ticket of another',
      [...waiters(140), ask('q.same', { ticket: 3 }), polls(['p139.w']), polls(['q.same'])],
    ],
    [
      'a poll of several acquisitions, one of which does not wait',
      [
        ...waiters(12),
        ask('p11.x'),
        polls(['p11.w', 'p11.x']),
        polls(['p11.w', 'gone']),
        polls(['gone', 'p11.w']),
        polls([]),
        polls(['p11.w'], 0),
      ],
    ],
  ];
};

const questionsBehind = (held: Step): readonly Named[] => {
  const waiters = waitersOf.bind(undefined, held);
  return [
    [
      'a process that pauses gets the lock, and the next ones are asked',
      [
        ...waiters(24, () => pushed),
        ...all(24),
        ...Array.from({ length: 12 }, (_, place) =>
          release(place === 0 ? 'h.held' : `p${place - 1}.w`),
        ),
      ],
    ],
    [
      'waiters without a channel are asked, and get no push',
      [
        ...waiters(20, (place) => (place % 2 === 0 ? pushed : {})),
        ...all(20),
        ...Array.from({ length: 11 }, (_, place) =>
          release(place === 0 ? 'h.held' : `p${place - 1}.w`),
        ),
      ],
    ],
    [
      'a poll of a program with a longer retention',
      [
        ...waiters(2),
        literally({ ...pollOf(['p1.w'], 1000), retention: 3 * retention }),
        polls(['p0.w']),
      ],
    ],
    ['a process that pauses asks for more', [...waiters(12), polls(['p11.w']), ask('p11.x')]],
    [
      'a process that pauses asks for more behind a waiter of an owner',
      [...waiters(11), ask('o.w', { owner: 'o' }), polls(['o.w']), ask('o.x')],
    ],
    [
      'a process that pauses asks for more, and ends its wait',
      [
        ...waiters(12),
        polls(['p11.w']),
        ask('p11.x'),
        release('p11.x'),
        literally(asking('p11.y', { ...one, patience: 60_000 }), 9_000_000),
        polls(['p11.y'], 1000, 60_000_000),
      ],
    ],
    [
      'a lease that ended unclaimed: paused processes are asked, and are silent soon',
      [
        ...waiters(30, () => ({ ...pushed, ttl: 10_000 })),
        ...all(30),
        release('h.held'),
        polls(['p1.w'], 1000, 1_100_000),
        polls(['p29.w'], 1000, 2_500_000),
        polls(['p29.w'], 1000, 2_500_000),
      ],
    ],
  ];
};

const park = (name: string): Step[] => [
  ask(`${name}.h`),
  literally(
    {
      ...{ op: 'park', key: 'k1', id: `${name}.h`, as: `${name}.w`, condition: 'c' },
      ...{ want: 'signal', ttl: 1000, claim: 1000, fair: false, channel: '', token: '', meta: '' },
      ...{ maxParked: 1e6, patience: 6000, retention },
    },
    7,
  ),
];
const parkedWaiters: Named = [
  'polls of parked waiters: of one, of two of a process, and soon forgotten',
  [
    ...Array.from({ length: 140 }, (_, place) => park(`q${place}`)).flat(),
    polls(['q3.w']),
    polls(['q4.w', 'q5.w']),
    polls(['q6.w', 'q7.w', 'q8.w']),
    polls(['q9.w', 'gone']),
    literally({ ...pollOf(['q10.w'], 1000), retention: 4000 }),
    polls(['q11.w'], 0),
  ],
];

const longHeld = { ttl: 60_000 };
/** The record of a lease with an owner is not plain. */
export const rarePauses: readonly Named[] = [
  parkedWaiters,
  ...pausesBehind(ask('h.held', longHeld)),
  ...questionsBehind(ask('h.held', longHeld)),
  ...[pausesBehind, questionsBehind]
    .flatMap((sequences) => sequences(ask('h.held', { ...longHeld, owner: 'o-h' })))
    .map(([name, steps]): Named => [`${name}; the holder has an owner`, steps]),
];
