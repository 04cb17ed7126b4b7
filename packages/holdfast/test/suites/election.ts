/** Leader election, on any backend. */
import { describe } from 'vitest';
import type { Backend } from '../support/backends.js';
import { electionEnds } from './election-ends.js';
import { electionLead } from './election-lead.js';
import { electionObservers } from './election-observers.js';
import { electionTerms } from './election-terms.js';

export function electionSuite(backend: Backend): void {
  describe('a term', () => electionTerms(backend));
  describe('leading', () => electionLead(backend));
  describe('an end', () => electionEnds(backend));
  describe('observing', () => electionObservers(backend));
}
