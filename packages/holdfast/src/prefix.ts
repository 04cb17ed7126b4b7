/** What the names of keys and channels may begin with. */
import { badOption } from './errors.js';

/** What the names of all keys and channels begin with, unless told otherwise. */
export const PREFIX = 'holdfast:';

/**
 * A prefix without braces and control characters. Braces mark the key in the names of records:
 * with braces in a prefix, `app` would list and force the locks of `app{eu}:`, and a cluster would
 * put all keys into one slot.
 */
export function checkPrefix(prefix: string): string {
  if (/[{}\p{Cc}]/u.test(prefix)) {
    throw badOption('prefix', 'text without braces and control characters', prefix);
  }
  return prefix;
}
