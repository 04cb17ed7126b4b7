/** Mistakes about leases in doubt, of the review of issue 7. */
import type { Mutant } from '../mutant.js';

export const REVIEW_DOUBT: readonly Mutant[] = [
  {
    name: 'doubt taken for loss at re-entry',
    mistake: 'a run inside a run queues behind its own lease while that is in doubt',
    edits: [
      {
        file: 'primitives/mutex.js',
        find: "while (outer?.state === 'doubted')\n            await outer.verify();",
        replace: '',
      },
    ],
  },
  {
    name: 'warning without a danger',
    mistake: '`onExpiring` comes whenever little of a lease is left, also right after a push',
    edits: [
      {
        file: 'lease/warning.js',
        find: 'Math.min(terms.expiringBefore, overdue)',
        replace: 'terms.expiringBefore',
      },
    ],
  },
];
