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
];
