/** Mistakes in waiting, giving up and giving back. */
import type { Edit, Mutant } from '../mutant.js';

const room = (find: string, replace: string): Edit => ({
  file: 'acquire/acquisitions.js',
  find,
  replace,
});
const line = (find: string, replace: string): Edit => ({
  file: 'acquire/local-queue.js',
  find,
  replace,
});

const NO_POLLS = line('this.#poll(this);', '');

export const WAITING: readonly Mutant[] = [
  {
    name: 'polls stop',
    mistake: 'acquisitions rely on being told (Redisson and others before the first lost message)',
    edits: [NO_POLLS],
  },
  {
    name: 'wake-up lost before the subscription',
    mistake: 'what was granted between asking and listening is never found out',
    edits: [
      NO_POLLS,
      {
        file: 'acquire/local-queues.js',
        find: 'if (acquisition.channel !== this.#wake.channel)',
        replace: 'if (false)',
      },
      room('up: () => this.#askAll()', 'up: () => undefined'),
    ],
  },
  {
    name: 'given up and not given back',
    mistake: 'a timeout ends the waiting here, and the place in the queue stays',
    edits: [
      room('this.#withdraw(acquisition, acquisition.mayBeDuplicated || acquisition.asking);', ''),
    ],
  },
  {
    name: 'a late grant is kept by nobody',
    mistake: 'a grant that comes after its request was given up is not given back',
    edits: [
      room('this.#withdraw(acquisition, true);', ''),
      {
        file: 'cleanup/abandoned.js',
        find: 'this.withdraw(what, Math.min(left / 1000, LEASE_MAX), false);',
        replace: '',
      },
    ],
    rare: true,
  },
  {
    name: 'a release is tried once',
    mistake: 'a release that is not answered is not repeated',
    edits: [
      {
        file: 'cleanup/release-retrier.js',
        find: 'if (this.#stopped || this.#clock.now() + pause >= tries.until)',
        replace: 'if (true)',
      },
    ],
    rare: true,
  },
  {
    name: 'a pass is not told to the store',
    mistake: 'the lock is handed on inside the process, and the store hands it to another',
    edits: [{ file: 'acquire/releaser.js', find: "to: successor?.id ?? ''", replace: "to: ''" }],
  },
  {
    name: 'the limit of a wait is ignored',
    mistake: 'a timeout is noticed only when somebody answers',
    edits: [
      {
        file: 'acquire/wait-limit.js',
        find: 'giveUp(acquisition, endOfWait(acquisition));',
        replace: 'acquisition.overdue = true;',
      },
    ],
    rare: true,
  },
];
