/** Mistakes about leases in doubt, found in a review. */
import type { Mutant } from '../mutant.js';

export const REVIEW_DOUBT: readonly Mutant[] = [
  {
    name: 'doubt taken for loss at re-entry',
    mistake: 'a nested run queues behind its own outer lease while that lease is in doubt',
    edits: [
      {
        file: 'primitives/plain-mutex.js',
        find: "while (outer?.state === 'doubted')\n            await outer.verify();",
        replace: '',
      },
    ],
    seed: 20,
  },
  {
    name: 'warning without a danger',
    mistake: '`onExpiring` is called whenever a lease ends soon, even right after a push',
    edits: [
      {
        file: 'lease/warning.js',
        find: 'Math.min(terms.expiringBefore, overdue)',
        replace: 'terms.expiringBefore',
      },
    ],
    seed: 40,
  },
];
