/** Mistakes about the kind of a lock, arrivals at gates that come late, and holds of owners. */
import type { Mutant } from '../mutant.js';

export const KINDS_AND_GATES: readonly Mutant[] = [
  {
    name: 'a capacity for a mutex',
    mistake: 'a semaphore call changes the capacity of a mutex in use: two holders, two leaders',
    edits: [
      {
        file: 'engine/resize.js',
        find: "(resource.kind === 'semaphore' && agreed)",
        replace: 'agreed',
      },
    ],
    seed: 40,
  },
  {
    name: 'one key, two kinds',
    mistake: 'a semaphore of one permit and a mutex use one key at the same time',
    edits: [
      {
        file: 'engine/engine.js',
        find: 'resource.kind === wanted.kind && ',
        replace: '',
      },
    ],
    rare: true,
    seed: 104,
  },
  {
    name: 'an arrival in the next generation',
    mistake:
      'an arrival whose generation was reset counts in the next one: a latch opens too early',
    edits: [
      {
        file: 'primitives/gates/gate-waiters.js',
        find: 'if (waiter.bound && !(',
        replace: 'if (false && !(',
      },
    ],
    elsewhere: 'unit/gates.test.ts: an arrival that comes late',
  },
  {
    name: 'a generation that began after the call',
    mistake: 'a call whose first request is delayed past a reset counts in the new generation',
    edits: [
      {
        file: 'primitives/gates/gate-waiters.js',
        find: '!waiter.beganLater(reply)',
        replace: 'true',
      },
    ],
    elsewhere: 'unit/gates.test.ts: an arrival that comes late',
  },
  {
    name: 'a stranger breaks a round',
    mistake: 'a caller with another number of parties that aborts breaks the round of the others',
    edits: [
      {
        file: 'engine/gates.js',
        find: "if (reason !== 'deleted' && !suits(gate, count))",
        replace: 'if (false)',
      },
    ],
    elsewhere: 'unit/gates.test.ts: another count or number of parties',
  },
  {
    name: 'a dead sharer that lasts',
    mistake: 'a hold of a process that died lasts as long as another sharer renews the lease',
    edits: [
      {
        file: 'engine/resource.js',
        find: 'else\n            hold.expires = Math.max(hold.expires, expires);',
        replace: [
          'else',
          '            for (const one of holder.holds.values()) one.expires = holder.expires;',
        ].join('\n'),
      },
    ],
    seed: 32,
  },
];
