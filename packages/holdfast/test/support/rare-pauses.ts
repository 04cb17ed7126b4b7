/** Short sequences for the pauses of idle waiters, see `rare.ts`. */
import type { Acquire, Poll } from '../../src/engine/commands.js';
import { SERVE_LIMIT } from '../../src/engine/limits.js';
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

/** The first waiters leave the queue; or get the lock and release it. */
const ended = (count: number): Step[] =>
  Array.from({ length: count }, (_, at) => release(`p${at}.w`));
const passed = (count: number): Step[] => [release('h.held'), ...ended(count - 1)];

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
      'polls of the last of eight, nine and ten waiters',
      [...waiters(8), polls(['p7.w']), ask('p8.w'), polls(['p8.w']), ask('p9.w'), polls(['p9.w'])],
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

const longHeld = { ttl: 60_000 };
const SECOND = 1_000_000;
/** The place of a process that pauses again is looked up only if that is due. */
const pausesAgainBehind = (held: Step): readonly Named[] => {
  const waiters = waitersOf.bind(undefined, held);
  const again = (id: string, times: number, after: number): Step[] =>
    Array.from({ length: times }, () => polls([id], 1000, after));
  return [
    [
      'a process pauses again, for longer than an interval, and those in front have left',
      [...waiters(40), ...all(40), ...ended(20), ...again('p39.w', 20, 5 * SECOND)],
    ],
    [
      'a process pauses again behind more than 64 others, and those in front have left',
      [...waiters(90), ...all(90), ...ended(12), ...again('p89.w', 8, 11 * SECOND)],
    ],
    [
      'a process pauses again after grants to those in front',
      [
        ...waiters(40),
        ...all(40),
        release('h.held'),
        polls(['p17.w']),
        release('p0.w'),
        release('p1.w'),
        polls(['p17.w']),
        polls(['p17.w']),
      ],
    ],
    [
      'a process pauses again with another period, and after another request',
      [
        ...waiters(20),
        polls(['p19.w']),
        polls(['p19.w'], 4000),
        polls(['p19.w'], 500),
        polls(['p19.w'], 1000),
        ask('p19.x'),
        polls(['p19.w'], 1000),
        polls(['p19.w', 'p19.x'], 1000),
        polls(['p19.x', 'p19.w'], 0),
        polls(['p19.x'], 1000),
        ask('p19.y'),
        polls(['p19.x'], 1000),
      ],
    ],
  ];
};

const permits = { capacity: 2, kind: 'semaphore' } as const;
const ofSemaphore: Named = [
  'processes that wait for a semaphore with several leases look at their places in each poll',
  [
    ask('h.a', { ...permits, ttl: 60_000 }),
    ask('h.b', { ...permits, ttl: 60_000 }),
    ...Array.from({ length: 30 }, (_, place) => ask(`p${place}.w`, permits)),
    polls(['p29.w']),
    ...ended(12),
    polls(['p29.w']),
  ],
];

const questionsBehind = (held: Step): readonly Named[] => {
  const waiters = waitersOf.bind(undefined, held);
  return [
    [
      'a process that pauses gets the lock, and the next ones are asked',
      [...waiters(24, () => pushed), ...all(24), ...passed(12)],
    ],
    [
      'waiters without a channel are asked, and get no push',
      [...waiters(20, (place) => (place % 2 === 0 ? pushed : {})), ...all(20), ...passed(11)],
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

const looksBehind = (held: Step): readonly Named[] => {
  const waiters = waitersOf.bind(undefined, held);
  return [
    [
      'a process that was asked near the head polls, gets the lock, and asks for more',
      [
        ...waiters(34, () => pushed),
        ...all(34),
        ask('p10.x', pushed),
        ...passed(9),
        polls(['p9.w']),
        polls(['p9.w']),
        ask('p11.x', pushed),
        release('p8.w'),
        polls(['p11.x', 'p11.w']),
        release('p9.w'),
        polls(['p10.x']),
        release('p10.w'),
        release('p11.w'),
      ],
    ],
    [
      'a process that was asked polls when others have come before it',
      [
        ...waiters(34, () => pushed),
        ...all(34),
        ...passed(9),
        ...Array.from({ length: 12 }, (_, place) => ask(`o${place}.w`, { ticket: 1 + place })),
        polls(['p12.w']),
        polls(['p12.w']),
      ],
    ],
    ...[10, 70].map(
      (many): Named => [
        `those in front of a process that pauses are counted again later; ${many} of one process`,
        [
          ...waiters(9),
          ...Array.from({ length: many }, (_, place) => ask(`q.w${place}`)),
          ask('r.w'),
          polls(['r.w']),
          ...ended(9),
          polls(['r.w'], 20_000),
          polls(['r.w'], 1000, 70 * SECOND),
        ],
      ],
    ),
  ];
};
const againBehind = (held: Step): Named[] => [...pausesAgainBehind(held), ...looksBehind(held)];

const parkOf = (name: string, kept: number, [from, to] = ['h', 'w']): Step =>
  literally(
    {
      ...{ op: 'park', key: 'k1', id: `${name}.${from}`, as: `${name}.${to}`, condition: 'c' },
      ...{ want: 'signal', ttl: 1000, claim: 1000, fair: false, channel: '', token: '', meta: '' },
      ...{ maxParked: 1e6, patience: 6000, retention: kept },
    },
    7,
  );
const park = (name: string, kept = retention): Step[] => [ask(`${name}.h`), parkOf(name, kept)];
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

const keptFor = (id: string, kept: number, after: number): Step =>
  literally({ ...pollOf([id], 1000), retention: kept }, after);
const asleep: readonly Named[] = [
  [
    'polls of parked waiters while the lock is held, and when the lease has ended',
    [
      ...park('q0'),
      ...park('q1'),
      ask('h.held', { ttl: 10_000 }),
      polls(['q0.w']),
      polls(['q1.w']),
      polls(['h.held']),
      polls(['q1.w'], 1000, 11 * SECOND),
      polls(['q0.w']),
    ],
  ],
  [
    'a poll of a parked waiter serves those in the queue',
    [
      ...park('q0'),
      ask('h.held', { ttl: 10_000 }),
      ask('p.w'),
      polls(['q0.w']),
      polls(['q0.w'], 1000, 11 * SECOND),
    ],
  ],
  [
    'a poll of a parked waiter drops more silent waiters than one command does',
    [
      ...park('q0'),
      ...waitersOf(ask('h.held', longHeld), SERVE_LIMIT + 20),
      release('h.held', 20 * SECOND),
      polls(['q0.w']),
    ],
  ],
  [
    'polls of parked waiters while an owner has holds that end',
    [
      ...park('q0'),
      ask('h.held', { ttl: 10_000, owner: 'o' }),
      ask('h.more', { ttl: 60_000, owner: 'o' }),
      polls(['q0.w']),
      polls(['q0.w'], 1000, 11 * SECOND),
      polls(['q0.w'], 1000, 60 * SECOND),
    ],
  ],
  [
    'polls of parked waiters of a semaphore',
    [
      ...park('q0'),
      literally({ op: 'capacity', key: 'k1', from: 1, capacity: 3, retention }, 7),
      ask('h.a', { capacity: 3, kind: 'semaphore' }),
      polls(['q0.w']),
      polls(['q0.w'], 1000, 40 * SECOND),
    ],
  ],
  [
    'a poll of one of two parked waiters of a process',
    [...park('q0'), ask('q0.g'), parkOf('q0', retention, ['g', 'v']), polls(['q0.w'])],
  ],
  [
    'a parked waiter is asked for when the record was kept for another one',
    [
      ...park('q0', 10_000),
      ...park('q1', 10_000),
      keptFor('q1.w', 10_000, 6 * SECOND),
      keptFor('q0.w', 10_000, 10),
    ],
  ],
  [
    'parked waiters are asked for out of order: between two, the first, before the last, the last',
    [
      ...[0, 1, 2, 3, 4, 5].flatMap((at) => park(`q${at}`, 10_000)),
      keptFor('q5.w', 10_000, 6 * SECOND),
      ...['q2', 'q0', 'q5', 'q1', 'q3', 'q4'].map((name) => keptFor(`${name}.w`, 10_000, 10)),
      keptFor('q2.w', 10_000, 6 * SECOND),
      ...['q0', 'q1', 'q4', 'q4'].map((name) => keptFor(`${name}.w`, 10_000, 10)),
    ],
  ],
  [
    'the first and the only parked waiter is asked for',
    [
      ...park('q0', 10_000),
      ...Array.from({ length: 8 }, () => keptFor('q0.w', 10_000, 3 * SECOND)),
      ...park('q1', 10_000),
      keptFor('q0.w', 10_000, 6 * SECOND),
      keptFor('q1.w', 10_000, 10),
      ...Array.from({ length: 6 }, (_, at) => keptFor(`q${at % 2}.w`, 10_000, 3 * SECOND)),
    ],
  ],
  [
    'a poll drops a parked waiter that is no longer asked for',
    [
      ...park('q0', 10_000),
      ...park('q1', 10_000),
      keptFor('q1.w', 10_000, 4 * SECOND),
      keptFor('q1.w', 10_000, 4 * SECOND),
      keptFor('q1.w', 10_000, 3 * SECOND),
    ],
  ],
  [
    'a parked waiter is no longer asked for, and others are',
    [
      ...park('q0', 10_000),
      ...park('q1', 10_000),
      keptFor('q1.w', 10_000, 4 * SECOND),
      keptFor('q1.w', 10_000, 4 * SECOND),
      keptFor('q1.w', 10_000, 3 * SECOND),
      ...park('q2', 10_000),
    ],
  ],
  [
    'a parked waiter is asked for, and its record is kept',
    [
      ...park('q0', 10_000),
      ...Array.from({ length: 8 }, () => keptFor('q0.w', 10_000, 3 * SECOND)),
      keptFor('q0.w', 40_000, SECOND),
      keptFor('q0.w', 10_000, SECOND),
    ],
  ],
];

/** The record of a lease with an owner is not plain. */
export const rarePauses: readonly Named[] = [
  parkedWaiters,
  ...asleep,
  ofSemaphore,
  ...againBehind(ask('h.held', { ttl: 600_000 })),
  ...pausesBehind(ask('h.held', longHeld)),
  ...questionsBehind(ask('h.held', longHeld)),
  ...[pausesBehind, questionsBehind]
    .flatMap((sequences) => sequences(ask('h.held', { ...longHeld, owner: 'o-h' })))
    .concat(againBehind(ask('h.held', { ttl: 600_000, owner: 'o-h' })))
    .map(([name, steps]): Named => [`${name}; the holder has an owner`, steps]),
];
