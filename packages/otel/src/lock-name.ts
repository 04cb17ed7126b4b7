/** The name of a lock in metrics: its key without ids, of which there are few. */

/** Makes a name from the key of a lock. It must have few results for many keys. */
export type LockName = (key: string) => string;

/** A word: no digits, and too short for a token. Dots, dashes and underscores may be inside. */
const WORD = /^\p{L}[\p{L}_.-]{0,39}$/u;
/** Replaces a part of a key that is no word. */
const ID = '{id}';
/** Replaces all names after the first ones. */
const OTHER = '{other}';
const FAILED = `holdfast-otel: the option "lockName" failed, so the name is ${OTHER}`;
/** How many keys are kept with their names. */
const LATEST = 1000;

/**
 * The default: the parts of the key between colons, with `{id}` for each part that contains a
 * digit, a space or other characters, or that is long: `invoice:42` becomes `invoice:{id}`. A part
 * that is an id and looks like a word (`user:alice`) stays, so give a function of your own then.
 */
export function lockName(key: string): string {
  const parts = key.split(':');
  return parts.map((part) => (WORD.test(part) ? part : ID)).join(':');
}

/**
 * Limits the number of names: after `most` different ones, further ones become `{other}`, and so
 * does a key for which `name` throws or gives no text: that is told once. The names of the latest
 * keys are kept, because an acquisition with its release asks several times.
 */
export function limited(name: LockName, most: number): LockName {
  const known = new Set<string>();
  const latest = new Map<string, string>();
  let told = false;
  const given = (key: string): string | undefined => {
    try {
      const found: unknown = name(key);
      if (typeof found === 'string') return found;
      throw new TypeError(`it returned ${typeof found}, not a string`);
    } catch (error) {
      if (!told) process.emitWarning(`${FAILED}: ${String(error)}`, { code: 'HOLDFAST_LOCK_NAME' });
      told = true;
      return undefined;
    }
  };
  const find = (key: string): string => {
    const found = given(key);
    if (found === undefined) return OTHER;
    if (known.has(found)) return found;
    if (known.size >= most) return OTHER;
    known.add(found);
    return found;
  };
  return (key) => {
    const before = latest.get(key);
    if (before !== undefined) return before;
    if (latest.size >= LATEST) latest.clear();
    const found = find(key);
    latest.set(key, found);
    return found;
  };
}
