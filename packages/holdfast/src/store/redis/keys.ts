/**
 * Names of keys. The three keys of a resource carry its name as a hash tag, so they have one slot.
 * Only the main record's name ends with the tag, so a pattern lists main records.
 */

/** The names in the order of the scripts' headers. */
export function keysOf(prefix: string, key: string): [string, string, string] {
  const main = mainKeyOf(prefix, key);
  return [main, `${main}:q`, `${main}:x`];
}

export function mainKeyOf(prefix: string, key: string): string {
  return `${prefix}{${escapeTag(key)}}`;
}

export function gateKeysOf(prefix: string, key: string): [string, string, string, string] {
  const main = `${prefix}{${escapeTag(key)}}`;
  return [`${main}:g`, `${main}:ga`, `${main}:gp`, `${main}:gx`];
}

/** `undefined` for the name of no main record. */
export function keyOf(prefix: string, name: string): string | undefined {
  const start = `${prefix}{`;
  if (!name.startsWith(start) || !name.endsWith('}')) return undefined;
  const tag = name.slice(start.length, -1);
  return tag.startsWith('\\') ? tag.slice(1) : tag;
}

/**
 * A pattern for SCAN that finds all main records with keys that match a glob pattern, and possibly
 * more. Names escape a key that begins with `}` or a backslash, so a first element that may match
 * one becomes `*`. Linear in the pattern's length.
 */
export function scanPattern(prefix: string, pattern: string): string {
  let end: number | undefined = 0;
  while (end !== undefined && end < pattern.length) end = endOfElement(pattern, end);
  // an open bracket or a last backslash would consume the closing brace
  const inner = end === undefined ? '*' : widened(pattern);
  return `${escapeGlob(prefix)}{${inner}}`;
}

function widened(pattern: string): string {
  const escaped = pattern[0] === '\\' ? pattern[1] : undefined;
  const wide = /^[?}[]/u.test(pattern) || escaped === '}' || escaped === '\\';
  return wide ? `*${pattern.slice(endOfElement(pattern, 0))}` : pattern;
}

function endOfElement(pattern: string, from: number): number | undefined {
  if (pattern[from] === '\\') return from + 1 < pattern.length ? from + 2 : undefined;
  if (pattern[from] !== '[') return from + 1;
  let at = from + (pattern[from + 1] === '^' ? 2 : 1);
  while (at < pattern.length && pattern[at] !== ']') {
    if (pattern[at] === '\\') at += 2;
    else at += pattern[at + 1] === '-' ? 3 : 1;
  }
  return at < pattern.length ? at + 1 : undefined;
}

export function channelOf(prefix: string, name: string): string {
  return `${prefix}wake:${name}`;
}

/** A tag that begins with a closing brace would be empty, which the server ignores. */
function escapeTag(key: string): string {
  return key.startsWith('}') || key.startsWith('\\') ? `\\${key}` : key;
}

function escapeGlob(text: string): string {
  return text.replace(/[\\*?[\]^-]/g, '\\$&');
}
