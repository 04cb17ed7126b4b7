/** Mistakes of the quorum and of the register store. */
import type { Mutant } from '../mutant.js';

export const QUORUM: readonly Mutant[] = [
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
    elsewhere: 'the tests of the register store',
  },
  {
    name: 'a lost fork is unknown',
    mistake: 'a change to a state that other processes overtook has an unknown outcome',
    edits: [
      {
        file: 'store/quorum/record.js',
        find: 'base.origins.some((origin) => record.origins.includes(origin))',
        replace: 'record.origins.includes(base.origins[0])',
      },
    ],
    elsewhere: 'the tests of the quorum register',
  },
];
