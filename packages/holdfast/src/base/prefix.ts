/** Checks the prefix of key and channel names. */
import { badOption } from './errors.js';

/** The default prefix of all key and channel names. */
export const PREFIX = 'holdfast:';

/**
 * A prefix without braces and control characters. Braces mark the key in the names of records. With
 * braces in a prefix, `app` would list and force-release the locks of `app{eu}:`, and a
 * cluster of servers would keep all keys on one of them.
 */
export function checkPrefix(prefix: string): string {
  if (/[{}\p{Cc}]/u.test(prefix)) {
    throw badOption('prefix', 'text without braces and control characters', prefix);
  }
  return prefix;
}
