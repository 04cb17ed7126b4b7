/** All mutants. */
import type { Mutant } from '../mutant.js';
import { LEASE } from './lease.js';
import { REVIEW_DOUBT } from './review-doubt.js';
import { STORE } from './store.js';
import { WAITING } from './waiting.js';

export const MUTANTS: readonly Mutant[] = [...STORE, ...LEASE, ...WAITING, ...REVIEW_DOUBT];
