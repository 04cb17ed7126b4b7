/** Mistakes in waiting, giving up and giving back. */
import type { Edit, Mutant } from '../mutant.js';

const room = (find: string, replace: string): Edit => ({ file: 'waiting/room.js', find, replace });
const line = (find: string, replace: string): Edit => ({ file: 'waiting/line.js', find, replace });

const NO_POLLS = line('this.#poll(this);', '');

export const WAITING: readonly Mutant[] = [
  {
    name: 'polls stop',
    mistake: 'waiters rely on being told (Redisson and others before the first lost message)',
    edits: [NO_POLLS],
  },
  {
    name: 'wake-up lost before the subscription',
    mistake: 'what was granted between asking and listening is never found out',
    edits: [
      NO_POLLS,
      {
        file: 'waiting/lines.js',
        find: 'if (waiter.channel !== this.#wake.channel)',
        replace: 'if (false)',
      },
      room('up: () => this.#askAll()', 'up: () => undefined'),
    ],
  },
  {
    name: 'given up and not given back',
    mistake: 'a timeout ends the waiting here, and the place in the queue stays',
    edits: [room('this.#withdraw(waiter, waiter.echoes || waiter.asking);', '')],
  },
  {
    name: 'a late grant is kept by nobody',
    mistake: 'a grant that comes after its request was given up is not given back',
    edits: [
      room('this.#withdraw(waiter, true);', ''),
      {
        file: 'waiting/given-up.js',
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
        file: 'waiting/returns.js',
        find: 'if (this.#stopped || this.#clock.now() + pause >= tries.until)',
        replace: 'if (true)',
      },
    ],
    rare: true,
  },
  {
    name: 'a pass is not told to the store',
    mistake: 'the lock is handed on inside the process, and the store hands it to another',
    edits: [{ file: 'core.js', find: "const to = heir?.id ?? ''", replace: "const to = ''" }],
  },
  {
    name: 'the limit of a wait is ignored',
    mistake: 'a timeout is noticed only when somebody answers',
    edits: [
      {
        file: 'waiting/wait-limit.js',
        find: 'giveUp(waiter, endOfWait(waiter));',
        replace: 'waiter.overdue = true;',
      },
    ],
  },
];
