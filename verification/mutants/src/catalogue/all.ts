/** All mutants. */
import type { Mutant } from '../mutant.js';
import { CONTENDERS } from './contenders.js';
import { HOSTILE } from './hostile.js';
import { KINDS_AND_GATES } from './kinds-and-gates.js';
import { LEASE } from './lease.js';
import { PRODUCTION } from './production.js';
import { QUORUM } from './quorum.js';
import { REGISTER } from './register.js';
import { REVIEW_DOUBT } from './review-doubt.js';
import { REVIEW } from './review.js';
import { ROOTS, ROOTS_IN_STORE } from './roots.js';
import { STORE } from './store.js';
import { TESTED } from './tested.js';
import { TOPOLOGIES } from './topologies.js';
import { WAITING } from './waiting.js';

/** Mistakes that a review by hand found. */
export const REVIEWED: readonly Mutant[] = [...REVIEW, ...REVIEW_DOUBT];

export const MUTANTS: readonly Mutant[] = [
  ...[...STORE, ...LEASE, ...WAITING],
  ...[
    ...ROOTS,
    ...ROOTS_IN_STORE,
    ...REVIEWED,
    ...QUORUM,
    ...REGISTER,
    ...CONTENDERS,
    ...TOPOLOGIES,
  ],
  ...[...KINDS_AND_GATES, ...TESTED, ...PRODUCTION, ...HOSTILE],
];
