/** Mistakes of the quorum and of the register store, found in their simulations. */
import type { Edit, Mutant } from '../mutant.js';

const quorum = (file: string, find: string, replace: string): Edit => ({
  file: `store/quorum/${file}.js`,
  find,
  replace,
});

export const QUORUM: readonly Mutant[] = [
  {
    name: 'half is a majority',
    mistake: 'n / 2 of n servers decide, so two groups may decide differently',
    edits: [quorum('members', '(acceptors.length / 2) + 1', '(acceptors.length / 2)')],
    world: 'quorum',
    seed: 365,
  },
  {
    name: 'accepts without regard to promises',
    mistake: 'a server accepts a value after it promised a greater ballot (a plain `SET`)',
    edits: [
      quorum(
        'memory-acceptor',
        'if (entry.promised > ballot)\n' +
          '            return this.#keep(key, entry, time);\n' +
          '        if (marker.partial',
        'if (marker.partial',
      ),
    ],
    world: 'quorum',
    seed: 365,
  },
  {
    name: 'restart without a guard',
    mistake: 'a server votes right after a restart without its memory (every Redlock library)',
    edits: [
      quorum(
        'restarts',
        'const { boot } = status;',
        'const { boot } = status;\n    return { decision: { boot, from: 0, long: [], mark: 0 } };',
      ),
    ],
    world: 'quorum',
    seed: 788,
  },
  {
    name: 'votes by the marker of a snapshot',
    mistake: 'a server that restarts from an older snapshot votes by the marker in it',
    edits: [
      quorum(
        'memory-acceptor',
        'return marker?.boot === this.runId ? marker : undefined;',
        'return marker;',
      ),
    ],
    world: 'quorum',
    seed: 138,
  },
  {
    name: 'servers without memory know the past',
    mistake: 'a server without memory counts others without memory among those that know the past',
    edits: [
      quorum(
        'restarts',
        'answers.filter(({ votesFrom }) => votesFrom !== undefined && votesFrom <= now)',
        'answers',
      ),
    ],
    elsewhere: 'unit/store/quorum-restarts.test.ts',
  },
  {
    name: 'a young server remembers nothing',
    mistake: 'the records of a server that has voted for less than 10 s do not count',
    edits: [
      quorum(
        'restarts',
        'if (!answers.some((one) => remembers(one))) {',
        'if (!answers.some((one) => remembers(one) && isInUse(one))) {',
      ),
    ],
    world: 'quorum',
    rare: true,
    seed: 39,
  },
  {
    name: 'a bare majority makes a new quorum whole',
    mistake:
      'servers that were all silent or forgetful take the quorum for new without asking the ' +
      'last one, and lose the count of a latch (hole 89)',
    edits: [
      quorum('restarts', 'Math.max(guard, LONG_MS)', 'guard'),
      quorum('restarts', 'long: [], mark, partial } };', 'long: [], mark, partial: false } };'),
    ],
    elsewhere: 'unit/store/quorum-restarts.test.ts',
  },
  {
    name: 'deleted keys count from the boot',
    mistake: 'a server whose keys were deleted long after its boot votes at once',
    edits: [quorum('restarts', 'isFirst ? running : Math.min(running, marked)', 'running')],
    world: 'quorum',
    seed: 34,
  },
  {
    name: 'a partial server accepts long records',
    mistake: 'a server that does not know the long records accepts one',
    edits: [quorum('memory-acceptor', 'if (marker.partial && ', 'if (false && ')],
    elsewhere: 'unit/store/quorum-restarts.test.ts',
  },
  {
    name: 'a completion is kept for less than the change',
    mistake: 'a change that was not made is made when the servers have forgotten that',
    edits: [quorum('quorum-register', '{ ...found, keep }', 'found')],
    elsewhere: 'unit/store/quorum-register.test.ts',
  },
  {
    name: 'a state that others chose is not kept as long as the change',
    mistake: 'a change that was not made is made when the servers have forgotten the state',
    edits: [quorum('quorum-register', ' || isShort) {', ') {')],
    elsewhere: 'unit/store/quorum-register.test.ts',
  },
  {
    name: 'an answer with little time takes the lease away',
    mistake: 'a lease is given back that the process has by another answer',
    edits: [
      quorum(
        'quorum-store',
        'return withValidity(terms, command, answer);',
        'return withValidity(terms, command, answer).catch((error) => {' +
          "for (const end of this.#store.execute([{ ...command, op: 'release' }])) " +
          'end.catch(() => undefined); throw error; });',
      ),
    ],
    world: 'quorum',
    seed: 401,
  },
  {
    name: 'long records are left out',
    mistake: 'a restarted server votes for a key whose record lasts for longer than its guard',
    edits: [quorum('restarts', 'const long = longest(answers, from);', 'const long = [];')],
    elsewhere: 'unit/store/quorum-restarts.test.ts',
  },
  {
    name: 'a new record takes its fence from the clock',
    mistake: 'a record that starts anew knows no earlier fence, and the clocks say an earlier time',
    edits: [quorum('quorum-register', 'settled, floor: mark,', 'settled,')],
    elsewhere: 'unit/store/quorum-restarts.test.ts',
  },
  {
    name: 'guard by its own clock',
    mistake: 'a restarted server measures its guard by its clock, which is set after the boot',
    edits: [quorum('memory-acceptor', 'return now < until', 'return time < until')],
    elsewhere: 'unit/store/quorum-clocks.test.ts',
  },
  {
    name: 'push before commit',
    mistake:
      'a waiter believes a grant that one server has published, before a majority accepted it',
    edits: [quorum('quorum-channel', 'servers.size !== this.#majority', 'servers.size !== 1')],
    world: 'quorum',
    seed: 17,
  },
  {
    name: 'time from one server',
    mistake: 'leases end by the clock of one server instead of the median (a clock that is set)',
    edits: [
      quorum(
        'server-clocks',
        'return bounds.sort((a, b) => a - b)[this.#middle];',
        'return bounds[0];',
      ),
    ],
    world: 'quorum',
    seed: 7,
  },
  {
    name: 'records end with the lease',
    mistake: 'a server forgets a record, and with it its promise, when the lease may still last',
    edits: [
      quorum(
        'quorum-register',
        'Math.max(PROMISE_MS, Math.ceil((record.keep - now) / 1000))',
        '100',
      ),
    ],
    world: 'quorum',
    seed: 365,
  },
  {
    name: 'an unsettled read answers',
    mistake: 'a value that a minority accepted is reported without completing it',
    edits: [
      quorum(
        'versions',
        'ballot === accepted).length >= majority',
        'ballot === accepted).length >= 1',
      ),
    ],
    world: 'quorum',
    seed: 118,
  },
  {
    name: 'an old read answers',
    mistake: 'a read of the register answers commands that came after it began',
    edits: [
      {
        file: 'store/register/proposals.js',
        find: 'this.#pending.unshift(...batch.splice(asked));',
        replace: '',
      },
    ],
    world: 'register',
    seed: 40,
  },
  {
    name: 'time until the commit is not counted',
    mistake: 'a lease starts at the time of its command, and its state is stored later',
    edits: [
      {
        file: 'store/register/commit-time.js',
        find: 'if (late <= 0)',
        replace: 'if (true)',
      },
    ],
    world: 'register',
    seed: 601,
  },
  {
    name: 'a push counts from its command',
    mistake: 'a lease that is pushed starts at the time of its command, before its waiter asked',
    edits: [
      {
        file: 'store/register/pending.js',
        find: 'shortened(push, late)',
        replace: 'push',
      },
    ],
    world: 'register',
    elsewhere: 'unit/store/known-time.test.ts: request travels with the release',
  },
  {
    name: 'a ballot that was handed over is kept too',
    mistake: 'a process uses the next ballot after it gave it to the new holder',
    edits: [quorum('quorum-register', 'isGiven || round.promised', 'round.promised')],
    world: 'quorum',
    seed: 771,
  },
  {
    name: 'a marker for any boot',
    mistake: 'a marker that was decided before a restart counts after it (a request is sent again)',
    edits: [quorum('memory-acceptor', 'decision?.boot === boot', 'decision !== undefined')],
    elsewhere: 'unit/store/quorum-restarts.test.ts',
  },
  {
    name: 'a lost fork is unknown',
    mistake: 'a change to a state that other processes overtook has an unknown outcome',
    edits: [
      quorum(
        'record',
        'base.origins.some((origin) => record.origins.includes(origin))',
        'record.origins.includes(base.origins[0])',
      ),
    ],
    elsewhere: 'unit/store/quorum-register.test.ts',
  },
];
