import { checkLockKey } from './checks.js';
import { badOption } from './errors.js';

/**
 * Joins the parts of a key with colons: `lockKey('order', 42)` is `order:42`. A colon or a percent
 * sign inside a part is escaped (`%3A`, `%25`), so different parts have different keys.
 * @throws HOLDFAST_BAD_OPTION if a part is empty, or no text, number or bigint; or if the key is
 *   too long
 */
export function lockKey(...parts: readonly (string | number | bigint)[]): string {
  const texts = parts.map((part) => {
    if (!/^(string|number|bigint)$/.test(typeof part) || part === '') {
      throw badOption('parts', 'non-empty texts and numbers', part);
    }
    return `${part}`.replace(/[%:]/g, encodeURIComponent);
  });
  return checkLockKey(texts.join(':'), 'parts');
}
