/**
 * I1: the sum of the weights of all believed leases never exceeds the capacity.
 *
 * The belief lasts from the grant to the last moment at which the lease was known to be held, so
 * all reported overlaps are real. Overlaps between a lease from before a loss of memory or a forced
 * release and later leases are excused: a single store does not promise to prevent them.
 */
import type { Check } from '../run-checks.js';
import { spanCheck } from './spans.js';

export const exclusion: Check = spanCheck(() => ({
  check: 'exclusion',
  start: ({ grantAt }) => grantAt,
  what: (total, limit, key) => `${total} of ${limit} held at once on ${key}`,
  concerns: () => true,
}));
