/** Mistakes in waiting, abandoning an acquisition, and release. */
import type { Edit, Mutant } from '../mutant.js';

const room = (find: string, replace: string): Edit => ({
  file: 'acquire/acquisitions.js',
  find,
  replace,
});
const line = (find: string, replace: string): Edit => ({
  file: 'acquire/poll-queues.js',
  find,
  replace,
});

const several = (find: string, replace: string): Edit => ({
  file: 'store/redis/several.js',
  find,
  replace,
});
const ONE_OF_A_BATCH = [
  several(
    'const names = commands.map(mainKeyOf);',
    'commands = commands.slice(0, 1);\n        const names = commands.map(mainKeyOf);',
  ),
  several(
    'commands.map((command) => shortReply(command, now, now))',
    'commands.map((command, at) => (at === 0 ? shortReply(command, now, now) : undefined))',
  ),
];

const NO_POLLS = line('this.#poll(this);', '');

export const WAITING: readonly Mutant[] = [
  {
    name: 'polls stop',
    mistake: 'acquisitions rely on pushes only (Redisson and others before the first lost message)',
    edits: [NO_POLLS],
  },
  {
    name: 'wake-up lost before the subscription',
    mistake: 'a grant between the request and the subscription is never noticed',
    edits: [
      NO_POLLS,
      {
        file: 'acquire/poll-queues.js',
        find: 'if (acquisition.channel !== wake.channel)',
        replace: 'if (false)',
      },
      room('up: () => this.#askAll()', 'up: () => undefined'),
    ],
  },
  {
    name: 'a pause without end',
    mistake: 'a waiter at the head asks as seldom as one at the end of a long queue',
    edits: [
      { file: 'engine/idle.js', find: 'if (rank < PROCESSES)', replace: 'if (rank < 1)' },
      { file: 'engine/idle.js', find: 'if (others.size < PROCESSES)', replace: 'if (false)' },
      {
        file: 'engine/idle.js',
        find: 'Math.min(PERIODS_MAX, 1 + ',
        replace: 'Math.max(PERIODS_MAX, 1 + ',
      },
    ],
    elsewhere: 'unit/idle-waiters.test.ts',
  },
  {
    name: 'a pause that is not looked up again',
    mistake: 'those in front have left, and the first waiter asks as seldom as one far behind',
    edits: [
      {
        file: 'engine/idle.js',
        find: 'if (!inSame(heard, now, period))',
        replace: 'if (false)',
      },
    ],
    elsewhere: 'unit/idle-waiters.test.ts',
  },
  {
    name: 'a pause that goes on after a grant',
    mistake: 'a waiter near the head asks as seldom as before the queue moved',
    edits: [
      {
        file: 'engine/idle.js',
        find: 'holders.size !== 1 || only.since >= heard',
        replace: 'holders.size !== 1',
      },
    ],
    elsewhere: 'unit/idle-waiters.test.ts',
  },
  {
    name: 'no waiter is asked before its turn',
    mistake:
      'the queue moves faster than the pauses of its waiters, and a lost push costs 16 windows',
    edits: [
      {
        file: 'engine/serve.js',
        find: 'context.pausedGrant = true',
        replace: 'context.pausedGrant = false',
      },
    ],
    elsewhere: 'unit/idle-waiters.test.ts',
  },
  {
    name: 'no waiter is asked after an unclaimed lease',
    mistake: 'processes that were frozen in a pause delay the queue by one window each',
    edits: [
      { file: 'engine/processes.js', find: 'this.lapsed = true', replace: 'this.lapsed = false' },
    ],
    elsewhere: 'unit/idle-waiters.test.ts',
  },
  {
    name: 'a waiter at a gate never asks again',
    mistake: 'in a crowd it relies on the push that tells the end',
    edits: [
      {
        file: 'primitives/gates/gate-queue.js',
        find: 'Math.min(WINDOWS_MAX,',
        replace: 'Math.max(1e6,',
      },
    ],
    elsewhere: 'unit/idle-gates.test.ts',
  },
  {
    name: 'a wait limit that passes while a waiter at a gate rests',
    mistake: 'the call ends without asking whether the gate has opened',
    edits: [
      {
        file: 'primitives/gates/gate-waiters.js',
        find: 'line.rest === 0)) {',
        replace: 'true)) {',
      },
    ],
    elsewhere: 'unit/idle-gates.test.ts',
  },
  {
    name: 'a wait limit that passes at a gate that no push can reach',
    mistake: 'the call ends without asking whether the gate has opened since the last poll',
    edits: [
      {
        file: 'primitives/gates/gate-waiters.js',
        find: "waiter.channel === '' && waiter.trouble === undefined",
        replace: 'false',
      },
    ],
    elsewhere: 'unit/wait-ends.test.ts',
  },
  {
    name: 'a wait limit that passes in a pause',
    mistake: 'the call goes on until the pause ends',
    edits: [{ file: 'acquire/call.js', find: 'limits.ask(call);', replace: '' }],
    elsewhere: 'unit/idle-waiters.test.ts',
  },
  {
    name: 'given up and not given back',
    mistake: 'a timeout ends the wait in the process, and the waiter stays in the queue',
    edits: [room('asked && this.#withdraw(acquisition)', 'undefined')],
  },
  {
    name: 'a late grant is not released by any code',
    mistake: 'a grant for an abandoned acquisition is not released',
    edits: [
      room('this.#withdraw(acquisition, true);', ''),
      {
        file: 'acquire/cleanup/abandoned.js',
        find: 'this.withdraw(what, Math.min(',
        replace: 'void (what, Math.min(',
      },
    ],
    rare: true,
    seed: 679,
  },
  {
    name: 'a release is tried once',
    mistake: 'a release without a reply is not repeated',
    edits: [
      {
        file: 'acquire/cleanup/release-retrier.js',
        find: 'continues: (failures) => failures === 0 || !this.#stopped',
        replace: 'continues: (failures) => failures === 0',
      },
    ],
    rare: true,
    seed: 548,
  },
  {
    name: 'the limit of a wait is ignored',
    mistake: 'a timeout is noticed only when a reply arrives',
    edits: [
      {
        file: 'acquire/call.js',
        find: 'limits.giveUp(call, endOfWait(call));',
        replace: '(call.overdue = true);',
      },
    ],
    elsewhere: 'unit/wait-ends.test.ts',
  },
  {
    name: 'an unlock takes a hold without a reply',
    mistake:
      'an unlock by name ends the hold of a lock call without a reply; that call adds it again',
    edits: [
      {
        file: 'primitives/owner-locks.js',
        find: ' && !this.#core.acquisitions.isOpen(id)',
        replace: '',
      },
    ],
    elsewhere: 'unit/owner-locks.test.ts',
  },
  {
    name: 'a busy key of a batch asks again',
    mistake: 'a batch takes one key, and the others ask a round trip later, behind later calls',
    edits: ONE_OF_A_BATCH,
    seed: 3,
  },
];
