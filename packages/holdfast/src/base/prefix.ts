import { badOption } from './errors.js';

export const PREFIX = 'holdfast:';

/**
 * Braces mark the key in the names of records: with braces in a prefix, `app` would list and
 * force-release the locks of `app{eu}:`, and a cluster would keep all keys on one server.
 */
export function checkPrefix(prefix: string): string {
  if (/[{}\p{Cc}]/u.test(prefix)) {
    throw badOption('prefix', 'text without braces and control characters', prefix);
  }
  return prefix;
}
