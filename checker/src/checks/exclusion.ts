/**
 * I1: at no time do leases that are believed in weigh more than the capacity.
 *
 * Belief runs from the grant to the last moment at which the lease was seen to be held, so whatever
 * this reports did overlap. Overlaps of a lease from before a store lost its memory, or from before
 * a forced release, with later ones are excused: a single store does not promise to prevent them.
 */
import type { Check } from '../judge.js';
import { spanCheck } from './spans.js';

export const exclusion: Check = spanCheck(() => ({
  check: 'exclusion',
  start: ({ grantAt }) => grantAt,
  what: (total, limit, key) => `${total} of ${limit} held at once on ${key}`,
  concerns: () => true,
}));
